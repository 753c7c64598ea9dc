#pragma once
// Only for sources. The style of all our pages (look.css, which the dashboard has, too), and what pages that are passed
// on and printed add to it.
#include <string_view>

namespace rldp::embedded {
extern const std::string_view look;
}

namespace rldp::eval {

inline constexpr std::string_view report_style = R"css(
p { margin: .5rem 0; max-width: 46rem; } .sub { margin: .4rem 0 0; }
.cards { grid-template-columns: repeat(auto-fit, minmax(13.5rem, 1fr)); margin-top: 1.8rem; }
.holds h3 { color: var(--good); } .fails h3 { color: var(--warn); }
th { width: 46%; } thead th { width: auto; }
caption { text-align: left; font-weight: 600; padding: 0 0 .3rem; }
.gridline { opacity: .45; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--accent); }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
main.screen { max-width: 78rem; padding: 1.1rem 1.5rem; font-size: .85rem; line-height: 1.4; }
.screen h1 { font-size: 1.5rem; } .screen h2 { font-size: 1rem; margin: .7rem 0 .3rem; padding-bottom: .15rem; }
.screen .note { margin: .6rem 0; font-size: 1rem; } .screen li { margin: .15rem 0; } .screen pre { margin: .4rem 0; }
@page { margin: 16mm; }
@media print { h2 { break-after: avoid; margin-top: 1.6rem; } .card b { font-size: 1.2rem; }
  th, td { padding: .18rem .6rem .18rem 0; } .figures { grid-template-columns: 1fr 1fr; gap: 1rem; }
  .pair { grid-template-columns: 1fr 1fr; gap: 1rem; } pre { font-size: 7.5pt; } }
)css";

}  // namespace rldp::eval
