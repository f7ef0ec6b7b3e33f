# SPDX-License-Identifier: GPL-2.0-or-later
# The queue and workers of pool.sh, with answers in 1 to 8 sends.
PARTS=8 PAPER='moses|.9411|.9435'
. "$(dirname "$0")/pool.sh"
