// What drawings share: the colours of their series, and texts made fit for XML.
#ifndef BANYAN_CORE_TERMINAL_DRAWING_H_
#define BANYAN_CORE_TERMINAL_DRAWING_H_

#include <array>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace banyan {

// The colours of series in every drawing, on white paper and on dark pages.
struct SeriesColour {
  absl::string_view light;  // on white
  absl::string_view dark;   // on a dark page
};

// Those of Okabe and Ito, darkened or lightened for each ground, and three
// more. They differ in lightness too, so that they are told apart in grey.
inline constexpr std::array<SeriesColour, 9> kSeriesColours = {{
    {"#0072b2", "#4f9fe0"},
    {"#d98e00", "#f0b429"},
    {"#009e73", "#2fc39a"},
    {"#d55e00", "#f0743a"},
    {"#c4669a", "#e59ac4"},
    {"#4aa8e0", "#a5dcff"},
    {"#8a7a00", "#b8a93f"},
    {"#4b3fa0", "#9a8cff"},
    {"#8b1e4f", "#e0608f"},
}};

// Returns the style rules ".s1{color:#0072b2}" and so on for each series.
// `within` stands before each, and keeps them to one kind of drawing.
std::string SeriesRules(absl::string_view within, bool dark);

// Returns "s1" for series 0. Colours repeat after the last.
std::string SeriesClass(std::size_t series);

// Texts of any origin made fit for XML, and so for HTML and SVG.

// Printable(text) (core/terminal/columns.h) with &, <, > and quotes escaped for
// XML.
std::string XmlEscaped(absl::string_view text);

}  // namespace banyan

#endif  // BANYAN_CORE_TERMINAL_DRAWING_H_
