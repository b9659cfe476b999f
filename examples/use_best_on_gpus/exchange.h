#pragma once

#include <functional>
#include <vector>

#include "gpu/stream.h"

/// What every process tells all others.
struct Message {
  tiletune::IpcName memory;  ///< its buffer
  double median_us = 0;
  bool is_right = true;
};

/// One process of several, numbered from 0, that meet again and again.
class Exchange {
 public:
  Exchange(int rank, int socket) : rank_(rank), socket_(socket) {}

  int rank() const { return rank_; }
  /// Waits until every process has called this; returns what each has told, by its number. Ends this process
  /// when another one has failed.
  std::vector<Message> meet(const Message& message = {});

 private:
  int rank_;
  int socket_;
};

/// Starts so many processes, each of which calls `body` and ends with its result, and passes on what they
/// tell each other. The result is 0 if all of theirs are, else that of the first that failed: then the others
/// are killed. `deadline_s`: the longest time between two meetings.
int run_processes(int count, int deadline_s, const std::function<int(Exchange&)>& body);
