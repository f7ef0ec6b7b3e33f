#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# mcp: messages by hand, and the protocol's own client. MCP_MUST=1: without that client the test fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/shell.sh
export XDG_CACHE_HOME="$work/cache"
data=$top/testdata
analyze=$top/obsanalyze
answers() { # a line of input; the answer
	printf '%s\n' "$1" | "$analyze" mcp "$data/demo-healthy.obs"
}
is "what is no JSON" "$(answers '{"id":1,')" '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON"}}'
is "an object as a name, which SQLite's JSON takes" "$(answers '{{"id":1,"method":"ping"}:{"a":["b",{"c":2}]}}' 2>&1)" \
	'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is no JSON"}}'
is "nested values" "$(answers '{ "a" : [ { "b" : [ ] }, { } , "{,}\"\\" ] , "id" : 3 , "method" : "ping" }')" \
	'{"jsonrpc":"2.0","id":3,"result":{}}'
is "what is no request" "$(answers '[1]')" '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this is no request"}}'
is "an unknown method" "$(answers '{"id":"a\"b","method":"x\"y\n"}' | python3 -c '
import json, sys
m = json.load(sys.stdin)
print(m["id"], m["error"]["code"])')" 'a"b -32601'
is_empty "a notification has no answer" "$(answers '{"jsonrpc":"2.0","method":"notifications/cancelled"}')"
is "a line that is too long, and the next" "$({ head -c 3000000 /dev/zero | tr '\0' 'x'; echo; echo '{"id":7,"method":"ping"}'; } |
	"$analyze" mcp "$data/demo-healthy.obs" | tail -n 1)" '{"jsonrpc":"2.0","id":7,"result":{}}'
holds "deep nesting" sh -c "python3 -c 'print(\"[\" * 500000)' | '$analyze' mcp '$data/demo-healthy.obs' | grep -q 32700"
prints "a file that is not there" 1 'cannot read' "$analyze" mcp "$work/none.obs"
prints "no file" 1 'usage' "$analyze" mcp
python3 -c 'd = bytearray(open("'"$data"'/demo-healthy.obs", "rb").read()); d[30000:] = b""; open("'"$work"'/cut.obs", "wb").write(d)'
holds "a damaged recording is answered" sh -c "echo '{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"report\"}}' |
	'$analyze' mcp '$work/cut.obs' | grep -q 'TRUNCATED.*\"isError\":false'"

tools=$top/.output/mcp
if [ ! -d "$tools/node_modules" ] && command -v npm >/dev/null 2>&1; then
	rm -rf "$tools" "$tools.part"
	timeout 120 npm install --no-save --no-audit --no-fund --silent --prefix "$tools.part" @modelcontextprotocol/sdk@1 \
		>/dev/null 2>&1 && mv "$tools.part" "$tools"
fi
if [ -d "$tools/node_modules/@modelcontextprotocol/sdk" ] && command -v node >/dev/null 2>&1; then
	node tests/check/mcp.mjs "$tools" "$analyze" "$data/demo-healthy.obs" "$data/demo-fault.obs" || bad=1
elif [ "${MCP_MUST:-0}" = 1 ]; then
	failed "the protocol's client is not at hand (npm: @modelcontextprotocol/sdk)"
else
	echo "ok the protocol's own client # SKIP npm or @modelcontextprotocol/sdk is not at hand"
fi
exit $bad
