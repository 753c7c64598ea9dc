#pragma once
// What `rldp compare` can put side by side: a name, what it stands for, and what it changes in the base configuration.
#include <string>
#include <vector>

namespace rldp::eval {

/// Only baselines compete for the place of the best baseline, and only `ours` is held against it.
enum class role {
    baseline,  ///< another method under the same contract
    ours,      ///< rldp as the base configuration has it
    control,   ///< rldp with a part of it switched off or exchanged
    unsound,   ///< no guarantee: shown beside the others, never compared with them
};

struct variant {
    std::string name;
    role part;
    std::string sentence;
    std::vector<std::string> overrides;  ///< "dotted.key=json"
};

/// Every variant, in the order in which tables show them.
const std::vector<variant>& compared_methods();

/// A comma list of names and of the words `all` (baselines, rldp, rldp_as_published) and `controls`; each variant once,
/// in the order of compared_methods(). Errors: bad_input for an empty list, an unknown name, a word twice.
std::vector<variant> methods_from(const std::string& list);

/// As the files and tables write it: baseline, ours, control, unsound.
std::string name_of(role part);

}  // namespace rldp::eval
