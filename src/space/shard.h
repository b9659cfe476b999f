#pragma once

#include <vector>

#include "space/component.h"

namespace tiletune::space {

/// Of the way in which shard_of() divides a space. Parts of different divisions are neither disjoint nor
/// complete.
inline constexpr int kShardDivision = 2;

/// Leaves the rows of one shard: of its largest component, joined with others as long as it has few rows for
/// so many shards. Each shard gets a stretch of the rows in an order that is the same everywhere and in which
/// neighbours lie apart. Over all shards each configuration is in exactly one; a shard has one row of the
/// component more or less than another. Which stretch a shard gets follows from `turn`: with another turn for
/// each template no shard has more of all of them. `parameters` are those of all components.
std::vector<Component> shard_of(std::vector<Component> components, const std::vector<Parameter>& parameters,
                                const Shard& shard, std::uint64_t turn);

}  // namespace tiletune::space
