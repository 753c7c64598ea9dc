#include "config/base/strict_json.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace rldp {

namespace {

using json = nlohmann::json;

/// Follows the parser to know where it is. It builds nothing: nlohmann's callbacks, which could tell the same, cost a
/// scan of the parent for every object that ends.
class watcher : public nlohmann::json_sax<json> {
  public:
    explicit watcher(std::size_t deepest) : deepest_(deepest) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }

    bool start_object(std::size_t) override {
        objects_.emplace_back();
        return go_deeper();
    }
    bool end_object() override {
        objects_.pop_back();
        --depth_;
        return true;
    }
    bool start_array(std::size_t) override { return go_deeper(); }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool key(string_t& name) override {
        last_key_ = name;
        objects_.back().current = name;
        return objects_.back().names.insert(name).second || stop(json_flaw::kind::repeated_key, 0, {});
    }
    bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& problem) override {
        constexpr int number_overflow = 406;
        return stop(problem.id == number_overflow ? json_flaw::kind::number : json_flaw::kind::syntax, byte,
                    problem.what());
    }

    bool stop(json_flaw::kind what, std::size_t byte, std::string reason) {
        found = {what, byte, path(), last_key_, std::move(reason)};
        return false;
    }

    std::optional<json_flaw> found;

  private:
    struct object_in_progress {
        std::set<std::string> names;
        std::string current;
    };

    bool go_deeper() { return ++depth_ <= deepest_ || stop(json_flaw::kind::depth, 0, {}); }

    std::string path() const {
        std::string dotted;
        for (const auto& object : objects_) dotted += (dotted.empty() ? "" : ".") + object.current;
        return dotted;
    }

    std::size_t deepest_, depth_ = 0;
    std::string last_key_;
    std::vector<object_in_progress> objects_;
};

}  // namespace

std::optional<json_flaw> flaw_of(std::string_view text, std::size_t deepest) {
    watcher watch(deepest);
    if (json::sax_parse(text, &watch))
        if (const auto at = text.find('\0'); at != std::string_view::npos)
            watch.stop(json_flaw::kind::syntax, at + 1, "a zero byte");
    return watch.found;
}

}  // namespace rldp
