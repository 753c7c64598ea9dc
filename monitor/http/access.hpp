#pragma once
// Who may look, and who may stop a run.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rldp::monitor {

enum class role { nobody, viewer, operator_ };

/// 256 bits each, in hex, as `rldp key new --tokens FILE` writes them.
struct tokens {
    std::string viewer, operator_;

    /// Lines "viewer HEX" and "operator HEX". Errors: bad_input naming the file where it can't be read, others than its
    /// owner can read it, or a line is neither.
    static tokens load(const std::filesystem::path& file);
};

class access_rules {
  public:
    /// Without tokens whoever reaches it is a viewer, and nobody is more.
    access_rules(std::optional<tokens> known, std::vector<std::string> hosts);

    /// Of a bearer's token, in constant time.
    role of(std::string_view token) const;
    bool asks_for_tokens() const { return known_.has_value(); }
    /// Whether a Host header, with or without a port, is of this server: a page elsewhere that had its name point here
    /// (DNS rebinding) gives that name.
    bool is_ours(std::string_view host) const;

  private:
    const std::optional<tokens> known_;
    const std::vector<std::string> hosts_;
};

}  // namespace rldp::monitor
