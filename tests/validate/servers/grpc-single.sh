# SPDX-License-Identifier: GPL-2.0-or-later
# The same without multiplexing: what remains is what it costs the rate of requests.
CALLS=1 CHANNELS=64 HOW="one call at a time on a connection"
. "$(dirname "$0")/grpc.sh"
