#pragma once

#include <unistd.h>

#include <utility>

namespace tiletune {

/// A file descriptor, closed with its scope; below zero: none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Gives it away, open.
  int release() { return std::exchange(number_, -1); }

 private:
  void close() {
    if (number_ >= 0) ::close(number_);
  }

  int number_;
};

}  // namespace tiletune
