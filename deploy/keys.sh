#!/bin/sh
# Makes the requestState key ring that all replicas share, once: the line that
# `cartd keygen` prints, in an image that has a shell.
set -eu
umask 077
ring=$1/request-state-keys
[ -s "$ring" ] && exit 0
id=$(od -An -N4 -tx1 /dev/urandom | tr -d ' \n')
secret=$(head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')
printf '%s %s mint\n' "$id" "$secret" >"$ring.new"
# cartd's user in the image.
chown 65532:65532 "$1" "$ring.new"
mv "$ring.new" "$ring"
