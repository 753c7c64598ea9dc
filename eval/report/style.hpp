#pragma once
// The report's style sheet: system fonts, light and dark on screen, always light on paper.
#include <string_view>

namespace rldp::eval {

inline constexpr std::string_view report_style = R"css(
:root { color-scheme: light dark; --text: #1b2330; --soft: #5a6675; --line: #dde2e9; --card: #f6f8fa; --page: #fff;
  --accent: #2f7ed8; --good: #1a7f4b; --good-card: #eef8f2; --warn: #a85400; --warn-card: #fff6e8; --bad: #b3261e;
  --bad-card: #fdeeed; }
@media screen and (prefers-color-scheme: dark) { :root { --text: #e4e8ee; --soft: #9aa5b3; --line: #2d3540;
  --card: #1a2028; --page: #11151b; --accent: #6aa9f0; --good: #57c08a; --good-card: #14241c; --warn: #f0a95a;
  --warn-card: #2b2114; --bad: #f28b82; --bad-card: #2d1917; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1.2rem; margin: 2.8rem 0 .8rem; padding-bottom: .35rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
sup { line-height: 0; }
p { margin: .5rem 0; max-width: 46rem; }
.sub { color: var(--soft); margin: .4rem 0 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13.5rem, 1fr)); gap: 1rem; margin: 1.8rem 0 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .9rem 1.1rem; }
.card b { display: block; font-size: 1.55rem; line-height: 1.25; font-weight: 600; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .87rem; }
.note { border-left: 4px solid var(--warn); background: var(--warn-card); padding: .7rem 1rem; margin: 1rem 0;
  border-radius: 0 .4rem .4rem 0; max-width: none; }
.note.good { border-color: var(--good); background: var(--good-card); }
.note.bad { border-color: var(--bad); background: var(--bad-card); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 1rem 2.5rem; }
.holds h3 { color: var(--good); } .fails h3 { color: var(--warn); }
ul { margin: .3rem 0; padding-left: 1.2rem; } li { margin: .35rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: .94rem; }
th, td { text-align: left; padding: .38rem .8rem .38rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 400; color: var(--soft); width: 46%; } thead th { width: auto; font-size: .85rem; }
td.n, th.n { text-align: right; padding-right: 0; padding-left: .8rem; }
td.n { white-space: nowrap; }
caption { text-align: left; font-weight: 600; padding: 0 0 .3rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.8rem 2rem; }
figure { margin: 0; break-inside: avoid; } figure svg { width: 100%; height: auto; display: block; color: var(--text); }
figcaption { color: var(--soft); font-size: .87rem; } figure h3 { margin: 0 0 .2rem; }
.gridline { opacity: .45; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--accent); }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, "DejaVu Sans Mono", monospace; font-size: .86rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem 1rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
main.screen { max-width: 78rem; padding: 1.1rem 1.5rem; font-size: .85rem; line-height: 1.4; }
.screen h1 { font-size: 1.5rem; } .screen h2 { font-size: 1rem; margin: .7rem 0 .3rem; padding-bottom: .15rem; }
.screen .note { margin: .6rem 0; font-size: 1rem; } .screen li { margin: .15rem 0; } .screen pre { margin: .4rem 0; }
@media (max-width: 30rem) { main { padding: 1.5rem 1rem; } }
@page { margin: 16mm; }
@media print { body { font-size: 10pt; } main { padding: 0; max-width: none; }
  h2 { break-after: avoid; margin-top: 1.6rem; } .card b { font-size: 1.2rem; } th, td { padding: .18rem .6rem .18rem 0; }
  .figures { grid-template-columns: 1fr 1fr; gap: 1rem; } .pair { grid-template-columns: 1fr 1fr; gap: 1rem; }
  table, .note, .card { break-inside: avoid; } pre { font-size: 7.5pt; } }
)css";

}  // namespace rldp::eval
