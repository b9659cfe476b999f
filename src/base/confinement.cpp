#include "base/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace tiletune {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the system calls of this architecture are not known here"
#endif

// Rights of linux/landlock.h. Older headers lack the later ones, and older kernels refuse those they do not
// know: a kernel of version v knows the first kRights[v - 1].
constexpr std::uint64_t kExecute = std::uint64_t{1} << 0;
constexpr std::uint64_t kReadFile = std::uint64_t{1} << 2;
constexpr std::uint64_t kReadFolder = std::uint64_t{1} << 3;
constexpr std::uint64_t kWriteFile = std::uint64_t{1} << 1;
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;
constexpr std::uint64_t kDeviceControl = std::uint64_t{1} << 15;
constexpr std::array<int, 5> kRights{13, 14, 15, 15, 16};
constexpr int kFirstWithNetwork = 4;
constexpr int kFirstWithScopes = 6;

/// As the kernel reads it, whatever version the headers have.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

/// 0: the kernel has none, or it is switched off.
int landlock_version() {
  const auto version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
  return static_cast<int>(std::max(version, 0L));
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(fmt::format("cannot be confined: {}: {}", what, std::strerror(errno)));
}

void allow(const Descriptor& ruleset, int descriptor, std::uint64_t rights) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISDIR(status.st_mode)) rights &= ~kReadFolder;
  landlock_path_beneath_attr rule{};
  rule.allowed_access = rights;
  rule.parent_fd = descriptor;
  if (::syscall(SYS_landlock_add_rule, ruleset.number(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    fail("landlock_add_rule");
}

void restrict_files(const Confinement& reach) {
  const int version = landlock_version();
  if (version == 0) fail("Landlock");
  const auto known = std::min(static_cast<std::size_t>(version), kRights.size()) - 1;
  constexpr std::uint64_t kBindAndConnect = 3;
  constexpr std::uint64_t kAbstractSocketsAndSignals = 3;
  const Ruleset handled{(std::uint64_t{1} << kRights[known]) - 1,
                        version >= kFirstWithNetwork ? kBindAndConnect : 0,
                        version >= kFirstWithScopes ? kAbstractSocketsAndSignals : 0};
  const std::size_t known_bytes = version >= kFirstWithScopes    ? sizeof handled
                                  : version >= kFirstWithNetwork ? offsetof(Ruleset, scopes)
                                                                 : offsetof(Ruleset, network);
  const Descriptor ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, known_bytes, 0)));
  if (!ruleset.is_open()) fail("landlock_create_ruleset");
  constexpr std::uint64_t kRead = kReadFile | kReadFolder;
  constexpr std::uint64_t kWrite = kRead | kWriteFile | kTruncate | kDeviceControl;
  const std::uint64_t read = reach.start_key ? kRead | kExecute : kRead;
  for (const int descriptor : reach.readable) allow(ruleset, descriptor, read & handled.files);
  for (const int descriptor : reach.writable) allow(ruleset, descriptor, kWrite & handled.files);
  if (::syscall(SYS_landlock_restrict_self, ruleset.number(), 0) != 0) fail("landlock_restrict_self");
}

/// How ncu, nsys and compute-sanitizer enter a process; empty when none has.
std::string injected_profiler() {
  if (const char* library = std::getenv("CUDA_INJECTION64_PATH"); library != nullptr && *library != '\0')
    return "CUDA_INJECTION64_PATH";
  std::string found;
  const auto look = [](dl_phdr_info* info, std::size_t /*bytes*/, void* to) {
    const std::string_view path = info->dlpi_name;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.find("Injection") == name.npos && name.find("injection") == name.npos) return 0;
    *static_cast<std::string*>(to) = name;
    return 1;
  };
  ::dl_iterate_phdr(look, &found);
  return found;
}

// Newer than the headers of some systems.
constexpr long kFchmodat2 = 452;
constexpr long kSetxattrat = 463;
constexpr long kRemovexattrat = 466;
constexpr long kFileSetattr = 469;

/// For libraries whose needs are not known: calls that start, trace, signal or slow processes, reach other
/// machines, change the system, or change files in ways that Landlock does not control.
constexpr auto kForbidden = std::to_array<long>({
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm,
#endif
#ifdef SYS_fork
    SYS_fork, SYS_vfork, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    // programs
    SYS_execve, SYS_execveat,
    // sockets
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
    SYS_io_uring_setup,
    // other processes
    SYS_ptrace, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open,
    SYS_pidfd_send_signal, SYS_pidfd_getfd, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ioprio_set,
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_semget, SYS_semop,
    SYS_semtimedop, SYS_semctl, SYS_mq_open, SYS_mq_unlink,
    // the system
    SYS_bpf, SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_keyctl, SYS_add_key, SYS_request_key,
    SYS_userfaultfd, SYS_open_by_handle_at, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
    SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname,
    // files
    SYS_truncate, SYS_fchmod, SYS_fchmodat, kFchmodat2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, kSetxattrat,
    kRemovexattrat, kFileSetattr});

/// What Python, NumPy and SciPy need with glibc or musl. None of it reaches another process, makes a file, or
/// takes what RLIMIT_AS and RLIMIT_FSIZE do not bound. Its arguments are bounded in system_call_filter().
constexpr auto kOfAProgram = std::to_array<long>({
#ifdef SYS_open
    SYS_arch_prctl, SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_dup2, SYS_poll,
    SYS_select, SYS_getpgrp, SYS_time,
#endif
    // start and end, threads
    SYS_execve, SYS_exit, SYS_exit_group, SYS_clone, SYS_set_tid_address, SYS_set_robust_list, SYS_rseq,
    SYS_futex, SYS_membarrier, SYS_sched_yield, SYS_sched_getaffinity, SYS_getcpu, SYS_prctl,
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_msync, SYS_mincore, SYS_mbind,
    SYS_get_mempolicy,
    // files; Landlock says which
    SYS_openat, SYS_close, SYS_read, SYS_readv, SYS_pread64, SYS_preadv, SYS_write, SYS_writev, SYS_pwrite64,
    SYS_pwritev, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_readlinkat,
    SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_dup, SYS_dup3, SYS_fcntl, SYS_ioctl, SYS_pselect6, SYS_ppoll,
    SYS_sendto,  // its last message before it becomes the program
    // signals of its own
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill, SYS_restart_syscall,
    // what is asked
    SYS_getrandom, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_times, SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_prlimit64, SYS_getrlimit, SYS_getpid, SYS_getppid,
    SYS_gettid, SYS_getpgid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid,
    SYS_getgroups});

// Linux has these; the C library hides some of them.
constexpr std::uint32_t kSetOwnerByKind = 15;  ///< F_SETOWN_EX
constexpr std::uint32_t kSetSignal = 10;       ///< F_SETSIG

constexpr std::uint32_t at(std::size_t member) { return static_cast<std::uint32_t>(member); }
/// Where the lower half of a 64-bit argument lies, on a little-endian machine.
constexpr std::uint32_t low_half(int argument) {
  return at(offsetof(seccomp_data, args)) + static_cast<std::uint32_t>(argument) * 8;
}

sock_filter load(std::uint32_t place) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place); }
sock_filter answer(std::uint32_t what) { return BPF_STMT(BPF_RET | BPF_K, what); }
/// Skips `if_true` instructions where the test of what was loaded holds, and `if_false` where it does not.
sock_filter jump(std::uint16_t test, std::uint32_t value, std::size_t if_true, std::size_t if_false) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), value,
                  static_cast<std::uint8_t>(if_true), static_cast<std::uint8_t>(if_false));
}

constexpr std::uint32_t refusal(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(error) & SECCOMP_RET_DATA);
}

/// Which system calls are refused. The first rule that answers a call holds.
class SystemCallFilter {
 public:
  SystemCallFilter() {
    // What another architecture's calls are called here is not known.
    add({load(at(offsetof(seccomp_data, arch))), jump(BPF_JEQ, kArchitecture, 1, 0),
         answer(SECCOMP_RET_KILL_PROCESS), load_call()});
#if defined(__x86_64__)
    constexpr std::uint32_t kX32 = 0x40000000;
    add({jump(BPF_JGE, kX32, 0, 1), answer(refusal(ENOSYS))});
#endif
  }

  void refuse(long call, int error) { add({is_call(call, 1), answer(refusal(error))}); }

  /// Where the argument has one of the values.
  void refuse_where(long call, int argument, std::initializer_list<std::uint32_t> values) {
    look_up(call, argument, values, {BPF_STMT(BPF_JMP | BPF_JA, 1), answer(refusal(EPERM)), load_call()});
  }

  /// Where it has none of them.
  void refuse_unless(long call, int argument, std::initializer_list<std::uint32_t> values) {
    look_up(call, argument, values, {answer(refusal(EPERM)), load_call()});
  }

  void allow(long call) { add({is_call(call, 1), answer(SECCOMP_RET_ALLOW)}); }

  /// What becomes of calls that no rule has answered.
  std::vector<sock_filter> followed_by(std::initializer_list<sock_filter> rest) && {
    add(rest);
    return std::move(filter_);
  }

 private:
  static sock_filter load_call() { return load(at(offsetof(seccomp_data, nr))); }
  void add(std::initializer_list<sock_filter> part) { filter_.insert(filter_.end(), part); }
  /// Skips `count` instructions where it is another call.
  static sock_filter is_call(long call, std::size_t count) {
    return jump(BPF_JEQ, static_cast<std::uint32_t>(call), 0, count);
  }
  /// `otherwise` follows where the argument has none of the values; with one of them its first is skipped.
  void look_up(long call, int argument, std::initializer_list<std::uint32_t> values,
               std::initializer_list<sock_filter> otherwise) {
    std::size_t left = values.size();
    add({is_call(call, 1 + left + otherwise.size()), load(low_half(argument))});
    for (const std::uint32_t value : values) filter_.push_back(jump(BPF_JEQ, value, left--, 0));
    add(otherwise);
  }

  std::vector<sock_filter> filter_;
};

std::vector<sock_filter> system_call_filter(const Confinement& reach) {
  SystemCallFilter filter;
  // Its flags lie in memory, where no filter can look; the C library then uses clone.
  filter.refuse(SYS_clone3, ENOSYS);
  // As glibc and musl start threads.
  constexpr std::uint32_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                                    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
  filter.refuse_unless(SYS_clone, 0, {kThread, kThread | CLONE_DETACHED});
  // Its own alone: the limit of another's time would end it.
  const auto own_process = static_cast<std::uint32_t>(::getpid());
  for (const long call : {SYS_prlimit64, SYS_migrate_pages, SYS_move_pages})
    filter.refuse_unless(call, 0, {0, own_process});
  // abort() signals its own process.
  filter.refuse_unless(SYS_tgkill, 0, {own_process});
  if (reach.start_key) {
    filter.refuse_unless(SYS_execve, 3, {reach.start_key->front()});
    filter.refuse_unless(SYS_execve, 4, {reach.start_key->back()});
    filter.refuse_unless(SYS_prctl, 0, {PR_SET_NAME, PR_GET_NAME});
    filter.refuse_unless(SYS_ioctl, 1, {TCGETS, FIOCLEX, FIONCLEX, FIONBIO, FIONREAD});
    filter.refuse_unless(SYS_fcntl, 1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL});
    for (const long call : kOfAProgram) filter.allow(call);
    // Later calls as in an older kernel: the C library knows a way without them.
    return std::move(filter).followed_by(
        {jump(BPF_JGE, SYS_clone3, 0, 1), answer(refusal(ENOSYS)), answer(refusal(EPERM))});
  }
  for (const long call : kForbidden) filter.refuse(call, EPERM);
  if (!reach.sets_priorities) {
    filter.refuse(SYS_setpriority, EPERM);
    for (const long call :
         {SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setattr, SYS_sched_setaffinity})
      filter.refuse_unless(call, 0, {0, own_process});
  }
  // The owner of a descriptor is sent a signal, of a kind that can be chosen, by whoever writes to its other
  // end. Landlock controls that since Linux 6.12.
  filter.refuse_where(SYS_fcntl, 1, {F_SETOWN, kSetOwnerByKind, kSetSignal});
  filter.refuse_where(
      SYS_ioctl, 1, {FIOSETOWN, SIOCSPGRP, std::uint32_t{FS_IOC_SETFLAGS}, std::uint32_t{FS_IOC_FSSETXATTR}});
  return std::move(filter).followed_by({answer(SECCOMP_RET_ALLOW)});
}

void restrict_system_calls(const Confinement& reach) {
  std::vector<sock_filter> filter = system_call_filter(reach);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  // With all threads, which a library may have started.
  const long failed = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (failed < 0) fail("seccomp");
  // The number of a thread, and no errno.
  if (failed > 0)
    throw std::runtime_error(
        fmt::format("cannot be confined: seccomp: thread {} has other filters of its own", failed));
}

/// Root's rights over the system; that to read everybody's files stays where a process remains what it is,
/// because the folders that may be read may be another user's. A program that it becomes gets none back
/// (no_new_privs).
void drop_capabilities(const Confinement& reach) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
  if (::syscall(SYS_capget, &header, held.data()) != 0) fail("capget");
  const std::uint32_t kept = reach.start_key ? 0 : held[0].effective & CAP_TO_MASK(CAP_DAC_READ_SEARCH);
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> left{{{kept, kept, 0}, {0, 0, 0}}};
  if (::syscall(SYS_capset, &header, left.data()) != 0) fail("capset");
}

}  // namespace

void Places::add(const std::filesystem::path& path) {
  Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.is_open()) add(path, std::move(place));
}

std::vector<int> Places::numbers() const {
  std::vector<int> numbers;
  for (const auto& [path, place] : places_) numbers.push_back(place.number());
  return numbers;
}

std::string why_system_cannot_confine() {
  std::uint32_t refusing = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &refusing) != 0) return "seccomp is not available";
  if (landlock_version() > 0) return "";
  return errno == EOPNOTSUPP ? "Landlock is switched off" : "this kernel has no Landlock";
}

std::string why_not_confinable() {
  const std::string profiler = injected_profiler();
  return profiler.empty() ? why_system_cannot_confine()
                          : fmt::format("a profiler was injected ({})", profiler);
}

bool may_be_confined(bool must) {
  const std::string why = why_not_confinable();
  if (must && !why.empty()) throw std::runtime_error(fmt::format("kernels cannot be confined here: {}", why));
  return why.empty();
}

void confine(const Confinement& reach) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs");
  restrict_files(reach);
  drop_capabilities(reach);
  restrict_system_calls(reach);
}

}  // namespace tiletune
