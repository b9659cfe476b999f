# tries: a reference in Python that starts threads without end
# must not: have more than a few thousand threads, or run to its deadline
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
python_reference <<'END'
import threading
def copy(inputs, problem):
    threading.stack_size(32768)
    wait = threading.Event()
    try:
        while True:
            threading.Thread(target=wait.wait, daemon=True).start()
    except RuntimeError:
        few = threading.active_count() < 4096
        raise ValueError("the system allows few" if few else f"{threading.active_count()} threads")
END
attempt "$TILETUNE" check config.json --gpu H100
[[ $output != *"the system allows few"* ]] || not_here "this system allows fewer threads"
[[ $output == *"more than 4096 threads"* ]] || broken "check says: $output"
