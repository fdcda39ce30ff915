"""Why a search answered as it did: recorded, run again, or asked about one memory."""
