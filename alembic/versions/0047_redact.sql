-- The default of the setting `redact` becomes "all". The namespaces that are there keep the former one.
INSERT INTO memsense.settings (tenant_id, namespace_id, name, value, changed_by)
SELECT n.tenant_id, n.namespace_id, 'redact', '"logs"', 'memsense db upgrade'
FROM memsense.namespaces AS n;
