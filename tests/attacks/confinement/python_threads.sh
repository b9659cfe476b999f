# tries: a reference in Python that starts threads without end
# must not: have more than a few thousand, or run to its deadline
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python_reference <<'END'
import threading
def copy(inputs, problem):
    threading.stack_size(32768)
    wait = threading.Event()
    while True:
        threading.Thread(target=wait.wait, daemon=True).start()
END
attempt "$TILETUNE" check config.json --gpu H100
[[ $output == *"more than 4096 threads"* || $output == *"can't start new thread"* ]] || broken "check says: $output"
