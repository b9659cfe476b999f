#pragma once

#include <string>
#include <vector>

namespace tiletune {

/// Those of the recorded problems that the texts name, each as sizes with an x between them, or one size for
/// all, and behind them leading dimensions: "512" names 512x512x512, "1000x77x513,lda=520" the problem with
/// that lda alone. A text that names none of them stands for itself. Throws UserError for what is not a
/// problem.
std::vector<std::string> recorded_problems(const std::vector<std::string>& texts,
                                           const std::vector<std::string>& recorded);

}  // namespace tiletune
