# Makes a database cluster and becomes its server.
#
#   postgres.sh BINDIR DIR [postgres option …]
#
# DIR/password holds the superuser's password: an argument would show in the
# process list.
umask 077
bin=$1 dir=$2
shift 2
"$bin/initdb" --pgdata="$dir/data" --username=mcpcart --pwfile="$dir/password" \
	--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync --no-instructions >/dev/null || exit 1
rm "$dir/password"
exec "$bin/postgres" -D "$dir/data" "$@"
