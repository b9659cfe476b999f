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

class ModelReader {
 public:
  ModelReader(const Json& json, std::string file) : json_(json), where_{std::move(file), ""} {}

  GpuModel read() {
    if (!json_.is_object())
      throw UserError("a GPU model is an object", where_, "schemas/gpu.schema.json says what stands in it.");
    check_keys();
    read_sources();
    GpuModel model;
    model.name = text(json_, "name", where_);
    read_aliases(model);
    read_capability(model);
    for_each_field<GpuModel>(
        [&](const auto& figure) { read_number(std::string(figure.name), model.*figure.member); });
    double published = 0;
    read_number(kPublishedPeak, published);
    check_sanity(model, published);
    return model;
  }

 private:
  void check_keys() const {
    std::vector<std::string> known = {"$schema", "name", "aliases", "sources", kCapability, kPublishedPeak};
    for_each_field<GpuModel>([&](const auto& figure) { known.emplace_back(figure.name); });
    for (const auto& [key, unused] : json_.items()) {
      if (is_among(key, known)) continue;
      throw UserError(fmt::format("there is no figure '{}' in a GPU model", key), where_.at(key),
                      "Remove or rename it." + suggestion(key, known));
    }
  }

  static const Json& member(const Json& object, const std::string& key, const Where& where) {
    const auto found = object.find(key);
    if (found == object.end())
      throw UserError(fmt::format("'{}' is missing", key), where, "Add it, with its source.");
    return *found;
  }

  static std::string text(const Json& object, const std::string& key, const Where& where) {
    const Json& value = member(object, key, where);
    if (!value.is_string() || trim(value.get<std::string>()).empty())
      throw UserError(fmt::format("'{}' must be a text that is not empty", key), where.at(key), "Write one.");
    return value.get<std::string>();
  }

  void read_sources() {
    if (!json_.contains("sources")) return;
    const Json& table = json_["sources"];
    if (!table.is_object())
      throw UserError("'sources' must be an object", where_.at("sources"), "Map short ids to documents.");
    for (const auto& [id, unused] : table.items()) {
      text(table, id, where_.at("sources"));
      sources_.push_back(id);
    }
  }

  void read_aliases(GpuModel& model) const {
    const Json& list = member(json_, "aliases", where_);
    if (!list.is_array())
      throw UserError("'aliases' must be a list of texts", where_.at("aliases"), "Write [] for none.");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string() || squashed(list[i].get<std::string>()).empty())
        throw UserError("an alias must be a text", where_.at("aliases").at(i),
                        "Write a name people use for this GPU.");
      model.aliases.push_back(list[i]);
    }
  }

  /// The "value" of a figure, once it is known to name its source: an id of the table, or a text of several
  /// words.
  const Json& sourced_value(const std::string& key) const {
    const Json& figure = member(json_, key, where_);
    const Where where = where_.at(key);
    if (!figure.is_object())
      throw UserError(R"(a figure is {"value": ..., "source": ...})", where, "Say where it is from.");
    const std::string source = text(figure, "source", where);
    if (!is_among(source, sources_) && source.find(' ') == std::string::npos)
      throw UserError(fmt::format("'{}' is not an id of the table 'sources'", source), where.at("source"),
                      "Name a document, or an id of the table." + suggestion(source, sources_));
    return member(figure, "value", where);
  }

  template <typename Number>
  void read_number(const std::string& key, Number& out) const {
    const Json& value = sourced_value(key);
    const bool right_type = std::is_integral_v<Number> ? value.is_number_integer() : value.is_number();
    const double number = right_type ? value.get<double>() : -1;
    if (number < 0 || (std::is_same_v<Number, int> && number > 1e9) || number > 1e15)
      throw UserError(fmt::format("found {}, expected {} that is not negative", value.dump(),
                                  std::is_integral_v<Number> ? "an integer" : "a number"),
                      where_.at(key).at("value"), "Correct the value.");
    out = value.get<Number>();
  }

  void read_capability(GpuModel& model) const {
    const Json& value = sourced_value(kCapability);
    const std::vector<std::string> parts =
        value.is_string() ? split(value.get<std::string>(), '.') : std::vector<std::string>{};
    const auto is_number = [](const std::string& part) {
      return !part.empty() && part.size() <= 2 &&
             std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    };
    if (parts.size() != 2 || !is_number(parts[0]) || !is_number(parts[1]))
      throw UserError(fmt::format("found {}, expected a compute capability such as \"9.0\"", value.dump()),
                      where_.at(kCapability).at("value"), "Write major and minor version as a text.");
    model.compute_major = std::stoi(parts[0]);
    model.compute_minor = std::stoi(parts[1]);
  }

  void check_sanity(const GpuModel& model, double published) const {
    for_each_field<GpuModel>([&](const auto& figure) {
      if (model.*figure.member != 0 || figure.name == kMayBeZero) return;
      throw UserError("the value must be greater than 0", place_of(figure), "Correct the value.");
    });
    // Occupancy is computed with `int`, and by rules for warps of 32 threads.
    if (model.warp_size != 32)
      throw UserError("a warp has 32 threads on every GPU that tiletune knows",
                      where_.at("warp_size").at("value"), "Write 32.");
    for_each_field<GpuModel>([&](const auto& figure) {
      if (figure.bounds.contain(model.*figure.member)) return;
      throw UserError(
          fmt::format("found {}, which is more than any multiprocessor has", model.*figure.member),
          place_of(figure), "Correct the value.");
    });
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

  template <typename Figure>
  Where place_of(const Figure& figure) const {
    return where_.at(std::string(figure.name)).at("value");
  }

  const Json& json_;
  Where where_;
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
