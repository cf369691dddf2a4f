-- Two roles, so that the server, which strangers talk to, can change rows but
-- not the schema. The passwords are for development on one machine: the
-- database is reachable from the other containers only.
CREATE ROLE cartd_owner LOGIN PASSWORD 'development';
CREATE ROLE cartd LOGIN PASSWORD 'development';

REVOKE ALL ON DATABASE mcpcart FROM PUBLIC;
ALTER DATABASE mcpcart OWNER TO cartd_owner;
GRANT CONNECT ON DATABASE mcpcart TO cartd;

-- What `cartd migrate` creates from here on.
ALTER DEFAULT PRIVILEGES FOR ROLE cartd_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO cartd;
ALTER DEFAULT PRIVILEGES FOR ROLE cartd_owner GRANT USAGE ON SEQUENCES TO cartd;
