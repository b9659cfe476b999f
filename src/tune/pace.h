#pragma once

#include <string>
#include <vector>

#include "tune/task_queue.h"

namespace tiletune {

/// Of GPUs of one model, those whose measured ceilings (arithmetic or copies) are more than 3% below the
/// fastest one's, each once: a line about each for the person watching. Their rows count like those of the
/// others.
std::vector<std::string> notes_of_slow_gpus(std::vector<GpuSlot>& slots);

}  // namespace tiletune
