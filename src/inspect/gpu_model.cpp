#include "inspect/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "spec/reader.h"

namespace tiletune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCapability = "compute_capability";
constexpr const char* kPublishedPeak = "published_fp32_tflops";
constexpr double kPeakTolerance = 0.03;
constexpr std::string_view kMayBeZero = "reserved_shared_bytes_per_block";
constexpr std::array<std::string_view, 2> kFigureKeys{"value", "source"};

/// What a file may give: all figures but one are positive.
template <typename Struct, typename Number>
Bounds<Number> bounds_of(const FieldOf<Struct, Number>& figure) {
  // Occupancy is computed with `int`.
  constexpr auto kMost = static_cast<Number>(std::is_same_v<Number, int> ? 1e9 : 1e15);
  Bounds<Number> bounds = figure.bounds;
  bounds.max = std::min(bounds.max, kMost);
  bounds.above = std::is_floating_point_v<Number>;
  bounds.min = bounds.above || figure.name == kMayBeZero ? 0 : 1;
  return bounds;
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys{"$schema", "name", "aliases", "sources", kCapability, kPublishedPeak};
  for (const std::string_view figure : field_names<GpuModel>()) keys.push_back(figure);
  return keys;
}

class ModelReader {
 public:
  ModelReader(const Json& json, const std::string& file)
      : where_{file, ""}, reader_({json, where_}, known_keys()) {}

  GpuModel read() {
    GpuModel model;
    model.name = read_string(reader_.need("name", "the GPU's name"));
    for (const JsonNode& alias :
         read_list(reader_.need("aliases", "a list of other names, or []"), "aliases", Empty::allowed))
      model.aliases.push_back(read_string(alias));
    if (const auto table = reader_.find("sources")) {
      for (const auto& [id, document] : read_members(*table, "an object that maps ids to documents")) {
        read_string(document, "a document");
        sources_.push_back(id);
      }
    }
    read_capability(model);
    for_each_field<GpuModel>([&](const auto& figure) {
      using Number = std::remove_cvref_t<decltype(model.*figure.member)>;
      model.*figure.member = read_as<Number>(sourced_value(figure.name), bounds_of(figure));
    });
    const double published = read_number(sourced_value(kPublishedPeak), {.min = 0, .above = true});
    check_sanity(model, published);
    return model;
  }

 private:
  /// The "value" of a figure, once it is known to name its source: an id of the table, or a text of several
  /// words.
  JsonNode sourced_value(std::string_view key) {
    ObjectReader figure(reader_.need(key, "a value with its source"), kFigureKeys);
    const JsonNode node = figure.need("source", "a document, or an id of the table 'sources'");
    const std::string source = read_string(node);
    if (!is_among(source, sources_) && source.find(' ') == std::string::npos)
      throw UserError(fmt::format("'{}' is not an id of the table 'sources'", source), node.where,
                      "Name a document, or an id of the table." + suggestion(source, sources_));
    return figure.need("value", "the figure");
  }

  void read_capability(GpuModel& model) {
    const JsonNode node = sourced_value(kCapability);
    const std::string text = read_string(node, R"(a compute capability such as "9.0")");
    const std::vector<std::string> parts = split(text, '.');
    const auto is_number = [](const std::string& part) {
      return !part.empty() && part.size() <= 2 &&
             std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    };
    if (parts.size() != 2 || !is_number(parts[0]) || !is_number(parts[1]))
      throw UserError(fmt::format(R"(found "{}", expected a compute capability such as "9.0")", text),
                      node.where, "Write major and minor version as a text.");
    model.compute_major = std::stoi(parts[0]);
    model.compute_minor = std::stoi(parts[1]);
  }

  void check_sanity(const GpuModel& model, double published) const {
    if (model.warp_size != 32)
      throw UserError("a warp has 32 threads on every GPU that tiletune knows",
                      where_.at("warp_size").at("value"), "Write 32.");
    if (model.max_threads_per_multiprocessor % model.warp_size != 0 ||
        model.max_threads_per_block > model.max_threads_per_multiprocessor) {
      throw UserError("a multiprocessor holds whole warps and at least one largest block",
                      where_.at("max_threads_per_multiprocessor"), "Correct the thread limits.");
    }
    if (model.shared_bytes_per_block > model.shared_bytes_per_block_optin ||
        model.shared_bytes_per_block_optin + model.reserved_shared_bytes_per_block >
            model.shared_bytes_per_multiprocessor) {
      throw UserError(
          "shared memory per block exceeds the opt-in limit, or that and the reserve exceed the "
          "multiprocessor's",
          where_.at("shared_bytes_per_block_optin"), "Correct the shared memory sizes.");
    }
    if (std::abs(model.fp32_peak_tflops() / published - 1) > kPeakTolerance)
      throw UserError(
          fmt::format("2 x {} lanes x {} multiprocessors x {} MHz = {:.1f} TFLOP/s, published: {}",
                      model.fp32_lanes_per_multiprocessor, model.multiprocessors, model.boost_clock_mhz,
                      model.fp32_peak_tflops(), published),
          where_.at(kPublishedPeak), "Correct the figure that is wrong; they must agree within 3%.");
  }

  Where where_;
  ObjectReader reader_;
  std::vector<std::string> sources_;
};

void check_names(const std::vector<GpuModel>& models) {
  std::set<std::string> taken;
  for (const GpuModel& model : models) {
    std::set<std::string> own = {squashed(model.name)};
    for (const std::string& alias : model.aliases) own.insert(squashed(alias));
    for (const std::string& name : own)
      if (!taken.insert(name).second)
        throw UserError(fmt::format("two GPU models are called '{}', one of them {}", name, model.name),
                        "Give each name and alias to one model.");
  }
}

[[noreturn]] void throw_unknown(const std::vector<GpuModel>& models, const std::string& name) {
  std::vector<std::string> known;
  std::vector<std::string> with_aliases;
  for (const GpuModel& model : models) {
    known.push_back(model.name);
    with_aliases.push_back(model.name);
    with_aliases.insert(with_aliases.end(), model.aliases.begin(), model.aliases.end());
  }
  const auto near = nearest(name, with_aliases);
  throw UserError(fmt::format("there is no GPU model '{}'", name),
                  fmt::format("{}Name one of {}; or describe another in a file in configs/gpus.",
                              near ? fmt::format("Did you mean '{}'? ", *near) : "", join(known, ", ")));
}

}  // namespace

std::string GpuModel::compute_capability() const {
  return fmt::format("{}.{}", compute_major, compute_minor);
}

double GpuModel::fp32_peak_tflops() const {
  return 2.0 * fp32_lanes_per_multiprocessor * multiprocessors * boost_clock_mhz * 1e-6;
}

std::vector<GpuModel> load_gpu_models(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  if (files.empty())
    throw UserError("there are no GPU models", Where{folder.string(), ""},
                    "Point TILETUNE_HOME at the folder that holds configs/gpus.");
  std::vector<GpuModel> models;
  models.reserve(files.size());
  for (const std::filesystem::path& file : files)
    models.push_back(ModelReader(read_json(file), file.string()).read());
  std::sort(models.begin(), models.end(),
            [](const GpuModel& left, const GpuModel& right) { return left.name < right.name; });
  check_names(models);
  return models;
}

const GpuModel* model_called(const std::vector<GpuModel>& models, const std::string& name) {
  const std::string wanted = squashed(name);
  if (wanted.empty()) return nullptr;
  const auto is_wanted = [&](const std::string& one) { return squashed(one) == wanted; };
  const auto found = std::ranges::find_if(models, [&](const GpuModel& model) {
    return is_wanted(model.name) || std::ranges::any_of(model.aliases, is_wanted);
  });
  return found == models.end() ? nullptr : &*found;
}

const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name) {
  if (const GpuModel* model = model_called(models, name)) return *model;
  std::vector<std::string> with_its_words;
  for (const GpuModel& model : models) {
    const auto has_its_words = [&](const std::string& one) { return has_words(one, name); };
    if (has_its_words(model.name) || std::ranges::any_of(model.aliases, has_its_words))
      with_its_words.push_back(model.name);
  }
  if (with_its_words.empty()) throw_unknown(models, name);
  throw UserError(fmt::format("'{}' is not the full name of a GPU model", name),
                  fmt::format("Name one in full: {}.", join(with_its_words, ", ")));
}

}  // namespace tiletune
