#pragma once
// What one rendering may cost. A template comes with a model, from anyone: none may run for ever or fill the memory.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rldp::data::jinja {

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

}  // namespace rldp::data::jinja
