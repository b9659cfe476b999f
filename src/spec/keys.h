#pragma once

#include <array>
#include <string_view>

#include "spec/tune_spec.h"

/// The keys that each object of the two formats may have: what the reader accepts and what schemas/
/// describes.
namespace tiletune::keys {

using Key = std::string_view;

// Template manifest.
inline constexpr std::array kTemplate{Key{"$schema"},
                                      Key{"name"},
                                      Key{"summary"},
                                      Key{"teaches"},
                                      Key{"operation"},
                                      Key{"types"},
                                      Key{"options"},
                                      Key{"dimensions"},
                                      Key{"buffers"},
                                      Key{"scalars"},
                                      Key{"flops"},
                                      Key{"bytes"},
                                      Key{"reference"},
                                      Key{"source"},
                                      Key{"include_folders"},
                                      Key{"kernel"},
                                      Key{"template_arguments"},
                                      Key{"macros"},
                                      Key{"compile_options"},
                                      Key{"parameters"},
                                      Key{"derived"},
                                      Key{"constraints"},
                                      Key{"launch"},
                                      Key{"launches"},
                                      Key{"constants"},
                                      Key{"workspace"},
                                      Key{"arguments"},
                                      Key{"min_compute_capability"},
                                      Key{"max_compute_capability"},
                                      Key{"tolerance_factor"}};
inline constexpr std::array kBuffer{Key{"name"}, Key{"type"}, Key{"elements"}, Key{"role"}};
inline constexpr std::array kWorkspace{Key{"name"}, Key{"type"}, Key{"elements"}, Key{"zeroed"},
                                       Key{"meaning"}};
inline constexpr std::array kReference{Key{"source"}, Key{"kernel"}, Key{"grid"}, Key{"block"}};
inline constexpr std::array kParameter{Key{"name"}, Key{"values"}, Key{"meaning"}};
inline constexpr std::array kDerived{Key{"name"}, Key{"value"}, Key{"meaning"}};
inline constexpr std::array kConstraint{Key{"require"}, Key{"why"}};
inline constexpr std::array kLaunch{Key{"grid"}, Key{"block"}, Key{"dynamic_shared_bytes"}};
inline constexpr std::array kLaunches{
    Key{"kernel"},    Key{"template_arguments"},   Key{"grid"},         Key{"block"},
    Key{"arguments"}, Key{"dynamic_shared_bytes"}, Key{"programmatic"}, Key{"when"}};
/// What stands among the launches of operations over several GPUs.
inline constexpr std::array kCopy{Key{"copy"},      Key{"to"},       Key{"peer"},   Key{"from"},
                                  Key{"to_offset"}, Key{"elements"}, Key{"repeat"}, Key{"beside"},
                                  Key{"signal"},    Key{"index"},    Key{"when"}};
inline constexpr std::array kBarrier{Key{"barrier"}, Key{"when"}};
inline constexpr std::array kCollective{Key{"collective"}, Key{"from"}, Key{"to"}, Key{"elements"},
                                        Key{"when"}};
/// Of a baseline with one launch, those that belong to it.
inline constexpr std::array kBaselineLaunch{Key{"kernel"},    Key{"template_arguments"},
                                            Key{"grid"},      Key{"block"},
                                            Key{"arguments"}, Key{"dynamic_shared_bytes"}};
/// Of a manifest with one launch, those that belong to it.
inline constexpr std::array kOnlyLaunch{Key{"kernel"}, Key{"template_arguments"}, Key{"launch"},
                                        Key{"arguments"}};
inline constexpr std::array kArgument{Key{"buffer"},     Key{"scalar"},    Key{"type"},    Key{"value"},
                                      Key{"tensor_map"}, Key{"extents"},   Key{"pitches"}, Key{"box"},
                                      Key{"swizzle"},    Key{"promotion"}, Key{"offset"},  Key{"when"},
                                      Key{"peers"}};

// An operation's file, and the object in a manifest.
inline constexpr std::array kOperation{
    Key{"$schema"},           Key{"name"},  Key{"summary"},   Key{"dimensions"},
    Key{"scalars"},           Key{"types"}, Key{"options"},   Key{"unstated_defaults"},
    Key{"buffers"},           Key{"flops"}, Key{"bytes"},     Key{"accumulation"},
    Key{"accumulation_bits"}, Key{"bound"}, Key{"reference"}, Key{"baselines"},
    Key{"tolerance"},         Key{"gpus"}};

inline constexpr std::array kOperationBuffer{
    Key{"name"},       Key{"type"}, Key{"elements"},  Key{"rows"},   Key{"columns"}, Key{"pitch"},
    Key{"transposed"}, Key{"role"}, Key{"read_when"}, Key{"values"}, Key{"only"},    Key{"layout"}};
inline constexpr std::array kValues{Key{"npy"},  Key{"source"}, Key{"kernel"},
                                    Key{"grid"}, Key{"block"},  Key{"arguments"}};
inline constexpr std::array kOperationReference{
    Key{"template"}, Key{"parameters"}, Key{"library"},   Key{"source"}, Key{"kernel"},
    Key{"grid"},     Key{"block"},      Key{"arguments"}, Key{"npy"},    Key{"python"},
    Key{"function"}, Key{"timeout_s"},  Key{"consensus"}};
inline constexpr std::array kLibrary{Key{"library"}};
inline constexpr std::array kTolerance = field_names<Tolerance>();
inline constexpr std::array kKernelBaseline{
    Key{"name"},     Key{"source"}, Key{"kernel"},    Key{"template_arguments"},   Key{"macros"},
    Key{"grid"},     Key{"block"},  Key{"arguments"}, Key{"dynamic_shared_bytes"}, Key{"launches"},
    Key{"constants"}};
inline constexpr std::array kTemplateBaseline{Key{"name"}, Key{"template"}, Key{"parameters"}};

// Config.
inline constexpr std::array kConfig{Key{"$schema"},  Key{"name"},    Key{"templates"}, Key{"configurations"},
                                    Key{"problems"}, Key{"scalars"}, Key{"strategy"},  Key{"budget"},
                                    Key{"measure"},  Key{"compile"}, Key{"limits"},    Key{"baseline"},
                                    Key{"gpu"},      Key{"view"},    Key{"steps"}};
inline constexpr std::array kStep{Key{"name"}, Key{"template"}, Key{"parameters"}};
inline constexpr std::array kNarrowing{Key{"template"},   Key{"types"},       Key{"options"},
                                       Key{"parameters"}, Key{"constraints"}, Key{"extend"}};
inline constexpr std::array kStrategy{Key{"name"}, Key{"seed"}};
inline constexpr std::array kBudget = field_names<Budget>();
inline constexpr std::array kMeasure = field_names<MeasurePolicy>();
inline constexpr std::array kFinals = field_names<FinalsPolicy>();
inline constexpr std::array kCompile = field_names<CompilePolicy>();
inline constexpr std::array kLimits = field_names<AdmissionLimits>();

}  // namespace tiletune::keys
