#pragma once

#include <string>

namespace tiletune {

/// While it lives, SIGHUP, SIGINT, SIGQUIT or SIGTERM removes the file before it ends the program. Signals
/// that are caught or ignored already are left alone. One at a time.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string name);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  std::string name_;
};

/// For handlers of signals that end the program themselves.
void remove_unfinished_file();

}  // namespace tiletune
