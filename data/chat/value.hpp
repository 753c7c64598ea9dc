#pragma once
// What a template computes with, and what one rendering may cost.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rldp::data::jinja {

// Allowance. What one rendering may cost. A template comes with a model, from anyone: none may run for ever or fill the
// memory.

/// What is wrong with a template or its use; whoever knows the file and the line says so. Line 0: where one is now.
class fault : public std::runtime_error {
  public:
    explicit fault(const std::string& what, std::uint32_t line = 0) : std::runtime_error(what), line_(line) {}
    std::uint32_t line() const { return line_; }

  private:
    std::uint32_t line_;
};

/// Steps and bytes that are left. Bytes count as they are made, whether or not they are given back.
class allowance {
  public:
    allowance(std::size_t steps, std::size_t bytes) : steps_(steps), bytes_(bytes) {}

    void step(std::size_t count = 1) {
        if (count > steps_) throw fault("the template runs for too long, as a loop without end does; use another");
        steps_ -= count;
    }
    /// Looks at so many bytes.
    void read(std::size_t bytes) { step(bytes / 64); }
    /// Looks for one text in another.
    void search(std::size_t bytes, std::size_t wanted) { step(bytes / 64 * (wanted + 1)); }
    void make(std::size_t bytes) {
        if (bytes > bytes_) throw fault("the template makes too much text, as a loop without end does; use another");
        bytes_ -= bytes;
    }

  private:
    std::size_t steps_, bytes_;
};

/// Text that grows at an allowance's cost.
class growing {
  public:
    explicit growing(allowance& left) : left_(left) {}
    void add(std::string_view piece) {
        left_.make(piece.size());
        text_ += piece;
    }
    std::string& text() { return text_; }

  private:
    allowance& left_;
    std::string text_;
};

// Values. What a template computes with: Python's values, as far as chat templates use them. All but namespaces are
// immutable, and what holds others says how deep it goes, so that none is too deep to be walked or let go.

struct series;
struct mapping;
struct loop_place;
struct space;

/// `name`, where it is known, is a part of the program.
struct undefined {
    std::string_view name;
};
struct none {};
/// What can be called: a macro of the program by its node, or one of those that are always there.
struct function {
    enum class kind { macro, raise_exception, strftime_now, range, make_namespace, make_dict };
    kind what;
    std::uint32_t macro = 0;
};
using shared_text = std::shared_ptr<const std::string>;
using value = std::variant<undefined, none, bool, std::int64_t, double, shared_text, std::shared_ptr<const series>,
                           std::shared_ptr<const mapping>, std::shared_ptr<const loop_place>, space*, function>;

/// A list and what resembles one. A view (dict.items()) has no places, and `once` (what map and select give) has no
/// length either and is walked once.
struct series {
    enum class kind { list, tuple, range, view, once };
    kind what;
    std::vector<value> items;
    unsigned depth = 1;
    mutable bool walked = false;  // of `once`; such a value never leaves its rendering
};

/// A dict, in the order of insertion.
struct mapping {
    std::vector<std::pair<value, value>> entries;
    unsigned depth = 1;
};

/// The variable `loop` of one turn.
struct loop_place {
    std::shared_ptr<const series> items;
    std::size_t index;
};

/// namespace(): the one thing that can change. The interpreter owns them all, as they may hold one another.
struct space {
    std::map<std::string, value, std::less<>> names;
};

value make_text(allowance& left, std::string_view bytes);
/// Errors: fault where it would be nested too deeply, as of make_mapping.
value make_series(allowance& left, series::kind what, std::vector<value> items);
/// A later entry replaces an earlier one with its key. Errors: fault where a key can't be one.
value make_mapping(allowance& left, const std::vector<std::pair<value, value>>& entries);

/// The text, or nothing of what is none.
const std::string* find_text(const value& of);
const series* find_series(const value& of);
const mapping* find_mapping(const value& of);
/// Of integers and, as in Python, of true and false.
const std::int64_t* find_integer(const value& of, std::int64_t& room);

/// What kind of value it is, for messages: "a list", "undefined ('x')".
std::string describe_kind(const value& of);

bool is_true(const value& of);
bool are_equal(allowance& left, const value& a, const value& b);
/// Errors: fault where the two have no order.
bool is_less(allowance& left, const value& a, const value& b);
/// `in`.
bool contains(allowance& left, const value& holder, const value& wanted);
/// Nothing where the key is missing.
const value* find_key(allowance& left, const mapping& in, const value& key);
/// len(). Errors: fault of what has none.
std::size_t find_length(allowance& left, const value& of);
/// What a loop goes through. Errors: fault of what can't be walked.
std::shared_ptr<const series> walk(allowance& left, const value& of);

/// str() and, inside of lists and dicts, repr().
void write(growing& out, const value& of);
std::string as_text(allowance& left, const value& of);
/// json.dumps(ensure_ascii=False) with `indent` spaces; below 0, on one line.
void write_json(growing& out, const value& of, std::int64_t indent);

}  // namespace rldp::data::jinja
