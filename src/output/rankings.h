#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "output/table.h"
#include "rank/ranking.h"
#include "store/trial.h"

namespace tiletune {

/// "4096x4096x4096 on NVIDIA H200, measured (gemm, f32, alpha=1 beta=0, cold)"
std::string heading(const std::string& problem, const std::string& gpu, Source source,
                    const std::string& conditions);

/// The name of the column that holds a source's ranking time: median_us or predicted_us.
std::string time_column(Source source);

/// Writes a heading, a banner where nothing was measured, and the table, in text or in Markdown.
void write_section(std::ostream& out, const std::string& title, const std::string& banner,
                   const TextTable& table, bool markdown, const TextStyle& style,
                   std::string_view remedy = kShowAll);

void write_title(std::ostream& out, const std::string& title, bool markdown, std::size_t width = kAnyWidth);

/// What stands under a table, a line or a paragraph each; lines of text that are longer than the width are
/// wrapped.
void write_lines(std::ostream& out, const std::vector<std::string>& lines, bool markdown,
                 std::size_t width = kAnyWidth);

/// One cell of a trial for people, by column name.
std::string human_cell(const Trial& trial, const std::string& column);

}  // namespace tiletune
