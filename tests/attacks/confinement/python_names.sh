# tries: a reference in Python that asks by stat for files of its user, of the system, and of the folder that tiletune was started in
# must not: learn whether they exist
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
[[ $("$TILETUNE" doctor --format json) != *"no user namespaces"* ]] || not_here "no mounts of its own"
echo "secret" >"$HOME/.secret"
mkdir -p ../beside
python_reference <<END
import os
def copy(inputs, problem):
    def is_there(path):
        try:
            os.lstat(path)
            return True
        except FileNotFoundError:
            return False
    names = ["$HOME/.secret", "$PWD/config.json", "$PWD/../beside", "/etc/passwd", "/etc/hostname", "/proc/self", "/boot", "/run", "/proc/1"]
    raise ValueError(f"there: {[name for name in names if is_there(name)]} root: {is_there('/usr')}")
END
attempt "$TILETUNE" check config.json --gpu H100
[[ $output == *"there: [] root: True"* ]] || broken "check says: $output"
