-- The calendar of the one who asked, so that a replay reads the same days.
ALTER TABLE memsense.traces ADD COLUMN timezone text;
ALTER TABLE memsense.traces ADD COLUMN calendar jsonb;

COMMENT ON COLUMN memsense.traces.timezone IS 'IANA name of the asker''s time zone, or its offset such as +02:00 if it has none; null before it was recorded, when days were those of UTC.';
COMMENT ON COLUMN memsense.traces.calendar IS 'Settings of the asker''s calendar: week_start, hemisphere and date_order; null before they were recorded.';
