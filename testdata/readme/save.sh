#!/bin/sh
test -d backup || { echo "backup is not mounted"; exit 1; }
cat > "backup/$DWATCH_NAME.json" && echo "saved $DWATCH_TYPE"
