#include "exchange.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace {

constexpr int kMostProcesses = 16;

struct AllMessages {
  int count = 0;
  std::array<Message, kMostProcesses> by_rank;
};

bool send_all(int socket, const void* data, std::size_t bytes) {
  return ::send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool receive_all(int socket, void* data, std::size_t bytes) {
  return ::recv(socket, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

struct Process {
  pid_t id = -1;
  int socket = -1;
};

/// One round: everybody's message, to everybody. Whether there was one.
bool pass_on(const std::vector<Process>& processes, int deadline_s) {
  AllMessages all;
  all.count = static_cast<int>(processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    pollfd ready{processes[i].socket, POLLIN, 0};
    if (::poll(&ready, 1, deadline_s * 1000) != 1) return false;
    if (!receive_all(processes[i].socket, &all.by_rank[i], sizeof(Message))) return false;
  }
  for (const Process& process : processes)
    if (!send_all(process.socket, &all, sizeof(all))) return false;
  return true;
}

int exit_status(pid_t id) {
  int status = 0;
  ::waitpid(id, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

}  // namespace

std::vector<Message> Exchange::meet(const Message& message) {
  AllMessages all;
  if (!send_all(socket_, &message, sizeof(message)) || !receive_all(socket_, &all, sizeof(all)))
    std::_Exit(3);
  return {all.by_rank.begin(), all.by_rank.begin() + all.count};
}

int run_processes(int count, int deadline_s, const std::function<int(Exchange&)>& body) {
  std::vector<Process> processes;
  for (int rank = 0; rank < count; ++rank) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) return 3;
    const pid_t id = ::fork();
    if (id == 0) {
      for (const Process& other : processes) ::close(other.socket);
      ::close(pair[0]);
      Exchange exchange(rank, pair[1]);
      std::exit(body(exchange));
    }
    ::close(pair[1]);
    processes.push_back({id, pair[0]});
    if (id < 0) break;
  }
  const bool all_started = processes.back().id > 0;
  while (all_started && pass_on(processes, deadline_s)) {
  }

  // One of them has ended, or has come to no meeting in time: the others get a moment to end too.
  for (const Process& process : processes) ::shutdown(process.socket, SHUT_RDWR);
  int result = all_started ? 0 : 3;
  for (const Process& process : processes) {
    if (process.id <= 0) continue;
    for (int tenths = 0; tenths < 50; ++tenths) {
      siginfo_t ended{};
      if (::waitid(P_PID, static_cast<id_t>(process.id), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          ended.si_pid == process.id)
        break;
      ::usleep(100000);
    }
    ::kill(process.id, SIGKILL);
    const int status = exit_status(process.id);
    if (result == 0) result = status;
  }
  return result;
}
