-- The rights that a user lacks who is to create memsense's schema in a database.

-- name: list_missing_rights
-- The statements with which a superuser grants the right to create the schema, in the order to run them.
SELECT
    current_database() AS database,
    array_remove(
        ARRAY[
            CASE WHEN NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')
                THEN 'CREATE EXTENSION vector;' END,
            CASE WHEN NOT has_database_privilege(current_database(), 'CREATE')
                THEN format('GRANT CREATE ON DATABASE %I TO %I;', current_database(), current_user) END
        ],
        NULL
    ) AS statements;
