# Does something when the process that started it is gone.
#
#   leash SIGNAL COMMAND [argument …]   run the command until then
#   leash rm DIRECTORY                  remove the directory then
#
# Standard input is a pipe whose other end only the starter holds; its end is
# the order, which the kernel gives even if the starter was killed. This process
# leads a process group of its own.

until_the_end() {
	trap '' HUP INT QUIT TERM
	while read -r _; do :; done
}

if [ "$1" = rm ]; then
	until_the_end
	# Whoever used the directory may be stopping just now, and still writing.
	tries=0
	until rm -rf "$2" 2>/dev/null && ! [ -e "$2" ]; do
		tries=$((tries + 1))
		[ "$tries" -lt 250 ] || exit 1
		sleep 0.1
	done
	exit 0
fi

signal=$1
shift
exec 3<&0 </dev/null

# The watcher is nobody's child: the command must not find a child that it did
# not start. It stops the command's whole group, itself excepted.
(
	{
		until_the_end
		kill -"$signal" "-$$"
		tries=0
		while kill -0 "$$" && [ "$tries" -lt 600 ]; do
			tries=$((tries + 1))
			sleep 0.1
		done
		kill -KILL "-$$"
	} <&3 >/dev/null 2>&1 &
)
exec "$@" 3<&-
