-- Names that users give themselves are mentions of kind "self": few, and read by every search of one user.
CREATE INDEX mentions_self ON memsense.mentions (tenant_id, scope_id) WHERE kind = 'self';
