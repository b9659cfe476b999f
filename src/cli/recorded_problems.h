#pragma once

#include <string>
#include <vector>

#include "store/database.h"

namespace tiletune {

/// Restricts a filter to those of the problems that rows of the databases are of which the texts name, each
/// as sizes with an x between them, or one size for all, and behind them leading dimensions, and options and
/// types as rows state them: "512" names 512x512x512, "1000x77x513,lda=520" the problem with that lda alone,
/// "1x64x64,layout=nt,A=f16" rows of that layout whose A is in f16. A text that names none of them stands for
/// itself. Throws UserError for what is not a problem.
void filter_problems(const std::vector<std::string>& texts, const std::vector<const Database*>& databases,
                     TrialFilter& filter);

}  // namespace tiletune
