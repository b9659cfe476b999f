#include "author/init.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/folder.h"
#include "base/printable.h"
#include "space/scope.h"
#include "spec/load.h"
#include "spec/paths.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

/// The folder's name is the template's, so it has to be an identifier.
fs::path template_folder(const InitRequest& request, const std::string& kernel) {
  if (request.folder.empty()) {
    fs::path own = request.file.lexically_normal().parent_path();
    if (own.filename() == kernel) return own;
    const fs::path home = fs::canonical(request.file).parent_path();
    return own.empty() && home.filename() == kernel ? home : request.file.parent_path() / kernel;
  }
  fs::path folder = request.folder.lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // without a slash at its end
  if (folder == "." || folder.filename() == "..") folder = fs::weakly_canonical(folder);
  check_identifier(folder.filename().string(), Where{"--out", ""});
  return folder;
}

/// Loads the draft before anything is written where a person wants it: a manifest has reserved words, and
/// limits of buffers and sizes. `source` is in the template's folder, with that text.
void check_draft(const Draft& draft, const std::string& name, const std::string& config,
                 const std::string& source, const std::string& text, const Where& kernel) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path() / name;
  write_file_atomically(folder / source, text);
  write_file_atomically(folder / kManifestName, draft.manifest);
  write_file_atomically(scratch.path() / "config.json", config);
  try {
    const TuneSpec spec = load_tune_spec(scratch.path() / "config.json", {});
    const space::Scope names(spec.templates.front(), spec.problems.front());
  } catch (const UserError& error) {
    throw UserError(fmt::format("no manifest can be drafted of this kernel: {}", error.message()), kernel,
                    "Change the kernel's parameters or macros, or write the manifest by hand "
                    "(docs/write_a_template.md).");
  }
}

/// Where the headers of the source's folder, and of one beside it, go beside a copy in `folder`: nowhere
/// where they are found from there, and where --include names their folder.
std::vector<std::pair<fs::path, std::string>> header_copies(const KernelSource& source,
                                                            const Dependencies& included,
                                                            const std::vector<fs::path>& include_folders,
                                                            const fs::path& home, const fs::path& folder) {
  std::vector<std::pair<fs::path, std::string>> copies;
  for (const auto& [name, hash] : included) {
    const fs::path from = (home / name).lexically_normal();
    const auto holds = [&](const fs::path& one) { return is_within(from, one); };
    if (folder.parent_path() == home || std::ranges::any_of(include_folders, holds)) continue;
    const Descriptor file = open_included(source, name);
    const auto text = file.is_open() ? source_content(file) : std::nullopt;
    if (text) copies.emplace_back((folder / name).lexically_normal(), *text);
  }
  return copies;
}

}  // namespace

Written write_draft(const InitRequest& request, const std::vector<fs::path>& include_folders,
                    const GpuModel& gpu, const CompilePoolOptions& compile) try {
  std::error_code missing;
  const fs::path source_file = fs::canonical(request.file, missing);
  if (missing || !fs::is_regular_file(source_file, missing))
    throw UserError("not a file", Where{request.file.string(), ""}, "Name a CUDA source, such as kernel.cu.");
  const fs::path home = source_file.parent_path();
  const KernelSource source = read_kernel_source(source_file, home, include_folders, home, false);
  const SourceFacts facts = read_source_facts(source.text, request.file.string());
  const KernelText& kernel = choose_kernel(facts, request.kernel, request.file.string());
  const fs::path folder = template_folder(request, kernel.name);
  Written written;
  written.kernel = kernel.name;
  written.manifest = folder / kManifestName;
  const std::string name = folder.filename().string();
  written.config = folder.parent_path() / (name + ".json");
  const fs::path place = fs::weakly_canonical(fs::absolute(folder));
  if (request.folder.empty() && !is_within(place, home))
    throw UserError("it is a link to a folder elsewhere", Where{folder.string(), ""},
                    "Name a folder with --out.");
  if (place != home) written.copy = folder / source.name;
  const auto refuse_existing = [&](const fs::path& file) {
    if (!request.force && !file.empty() && fs::exists(fs::symlink_status(file)))
      throw UserError("it exists already", Where{file.string(), ""},
                      "Name another folder with --out, or replace it with --force.");
  };
  for (const fs::path& file : {written.manifest, written.config, written.copy}) refuse_existing(file);
  const Signature signature =
      read_signature(compile, source, architecture_for(gpu.compute_major, gpu.compute_minor), facts, kernel);
  written.draft = draft_manifest(name, source.name, facts, kernel, signature,
                                 operation_names(home_folder() / "kernel_templates"));
  std::vector<std::pair<fs::path, std::string>> headers;
  if (place != home) headers = header_copies(source, signature.included, include_folders, home, place);
  std::erase_if(headers, [](const auto& one) {
    std::error_code none;
    return fs::is_regular_file(one.first, none) && read_file(one.first) == one.second;
  });
  for (const auto& [header, text] : headers) refuse_existing(header);
  const std::string config =
      json_text(nlohmann::ordered_json{{"templates", {name}}, {"problems", {written.draft.problem}}}, 2) +
      "\n";
  check_draft(written.draft, name, config, source.name, source.text,
              Where{request.file.string(), fmt::format("line {}", kernel.line)});
  if (!written.copy.empty()) write_file_atomically(written.copy, source.text);
  for (const auto& [header, text] : headers) {
    write_file_atomically(header, text);
    written.headers.push_back((folder / header.lexically_relative(place)).lexically_normal());
  }
  write_file_atomically(written.manifest, written.draft.manifest);
  write_file_atomically(written.config, config);
  return written;
} catch (const fs::filesystem_error& error) {
  // A name that is too long, or links in a circle, are the file system's to find.
  throw UserError(error.code().message(), Where{error.path1().string(), ""},
                  "Name another folder with --out.");
}

}  // namespace tiletune
