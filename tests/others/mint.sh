# mint.sh TEST: one test of minio/mint's awscli suite against the endpoint of the environment, from the checkout's root.
set -eu
export MINT_ROOT_DIR=${TMPDIR:-/tmp}/mint-$PPID
export MINT_DATA_DIR=$MINT_ROOT_DIR/data
trap 'rm -rf "$MINT_ROOT_DIR"' EXIT
bash create-data-files.sh > /dev/null
set +eu
eval "$(grep -v '^_init "\$@" && main' run/core/awscli/test.sh)"
_init "$AWS_ENDPOINT_URL"
"$1"
