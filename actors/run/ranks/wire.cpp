#include "actors/run/ranks/wire.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "config/base/error.hpp"

namespace rldp::ranks {

namespace {

/// Newer LibTorches ask for libuv under the store unless told otherwise, and a distribution's may be built without it.
template <class Options>
void without_libuv(Options& options) {
    if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

/// An exception's first line, without where in LibTorch it was thrown.
std::string cause_of(const std::exception& thrown) {
    std::string line = thrown.what();
    line = line.substr(0, line.find('\n'));
    if (line.starts_with('[')) line = line.substr(std::min(line.size(), line.find(']') + 1));
    return line.substr(line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' '));
}

std::shared_ptr<::gloo::transport::Device> device_for(const place& where) {
    using group = c10d::ProcessGroupGloo;
    if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) return group::createDeviceForInterface(interface);
    const bool here = where.host == "localhost" || where.host.starts_with("127.");
    return here ? group::createDeviceForHostname("127.0.0.1") : group::createDefaultDevice();
}

/// How long ranks may take to come together: a cluster's nodes don't start at once.
constexpr std::chrono::seconds patience{600};
/// Of a call's own timeout: the heartbeat is what tells a silent rank.
constexpr std::chrono::hours for_ever{24 * 365};

/// The ranks count each other, a few times within the timeout, on connections of their own.
class heartbeat {
  public:
    heartbeat(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, std::size_t ranks, std::chrono::seconds timeout,
              std::function<void()> silent)
        : group_(std::move(group)),
          ranks_(static_cast<std::int64_t>(ranks)),
          interval_(interval_in(timeout)),
          silent_(std::move(silent)),
          thread_([this] { beat(); }) {}
    ~heartbeat() {
        tell(left_ ? end::left : end::gone);
        thread_.join();
    }
    heartbeat(const heartbeat&) = delete;
    heartbeat& operator=(const heartbeat&) = delete;

    /// Of the timeout an interval goes by before a rank is asked, and the grace after it has not answered.
    static std::chrono::milliseconds patience_within(std::chrono::seconds timeout) {
        return timeout - interval_in(timeout) - grace;
    }

    void leave() {
        tell(end::left);
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return over_; });
        left_ = true;
    }

  private:
    static std::chrono::milliseconds interval_in(std::chrono::milliseconds timeout) { return timeout / 6; }

    enum class end { none, left, gone };

    void tell(end how) {
        const std::lock_guard lock(mutex_);
        end_ = how;
        changed_.notify_all();
    }

    void beat() {
        for (;;) {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, interval_, [this] { return end_ != end::none; });
            if (end_ == end::gone) break;  // whose connections close: the others hear that
            std::vector<at::Tensor> leaving{at::full({1}, end_ == end::left ? 1 : 0, at::kLong)};
            lock.unlock();
            try {
                group_->allreduce(leaving)->wait();
            } catch (const std::exception&) {
                lock.lock();
                // A rank that is gone is heard of by the calls under way, which end the run in order.
                const bool ending = changed_.wait_for(lock, grace, [this] { return end_ != end::none; });
                lock.unlock();
                if (!ending) silent_();
                break;
            }
            if (leaving[0].item<std::int64_t>() == ranks_) break;
        }
        const std::lock_guard lock(mutex_);
        over_ = true;
        changed_.notify_all();
    }

    static constexpr std::chrono::seconds grace{2};
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
    std::int64_t ranks_;
    std::chrono::milliseconds interval_;
    std::function<void()> silent_;
    std::mutex mutex_;
    std::condition_variable changed_;
    end end_ = end::none;
    bool over_ = false, left_ = false;
    std::thread thread_;
};

c10::intrusive_ptr<c10d::ProcessGroupGloo> group_of(const c10::intrusive_ptr<c10d::Store>& store, const place& where,
                                                    const std::string& name, std::chrono::milliseconds timeout) {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(device_for(where));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>(name, store),
                                                       static_cast<int>(where.rank), static_cast<int>(where.ranks),
                                                       options);
}

}  // namespace

bool has_wire() {
    return true;
}

struct wire::inside {
    place where;
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
    std::optional<heartbeat> beats;

    /// One collective, to its end.
    template <class Call>
    void make(Call call) {
        try {
            call()->wait();
        } catch (const std::exception& thrown) {
            throw error(errc::failed,
                        fmt::format("rank {} of {}: {} ({}). The run can be resumed, with any number of ranks",
                                    where.rank, where.ranks, gone, cause_of(thrown)));
        }
    }
};

wire::wire(const place& where, std::chrono::seconds timeout, const on_silence& silent)
    : inside_(std::make_unique<inside>()) {
    inside_->where = where;
    try {
        c10d::TCPStoreOptions store;
        without_libuv(store);
        store.port = where.port;
        store.isServer = where.rank == 0 && !where.store_elsewhere;
        if (!where.store_elsewhere) store.numWorkers = where.ranks;
        store.timeout = patience;
        const c10::intrusive_ptr<c10d::Store> common = c10::make_intrusive<c10d::PrefixStore>(
            "rldp" + where.round, c10::make_intrusive<c10d::TCPStore>(where.host, store));
        inside_->group = group_of(common, where, "run", for_ever);
        auto beats = group_of(common, where, "beats", heartbeat::patience_within(timeout));
        inside_->beats.emplace(std::move(beats), where.ranks, timeout, [where, timeout, silent] {
            silent(
                fmt::format("rank {} of {}: another rank has been silent for {} s, or the network between them is cut; "
                            "the run can be resumed, with any number of ranks",
                            where.rank, where.ranks, timeout.count()));
        });
    } catch (const std::exception& thrown) {
        throw error(errc::failed, fmt::format("rank {} of {} finds not all others at {}:{} within {} s: {}", where.rank,
                                              where.ranks, where.host, where.port, patience.count(), cause_of(thrown)));
    }
}

wire::~wire() = default;

void wire::leave() {
    inside_->beats->leave();
}

void wire::broadcast(std::span<char> bytes) {
    std::vector<at::Tensor> tensor{at::from_blob(bytes.data(), {std::ssize(bytes)}, at::kByte)};
    inside_->make([&] { return inside_->group->broadcast(tensor); });
}

std::string wire::gather(const std::string& mine) {
    const auto length = std::ssize(mine);
    std::string out(mine.size() * inside_->where.ranks, '\0');
    std::vector<at::Tensor> from{at::from_blob(const_cast<char*>(mine.data()), {length}, at::kByte)};
    std::vector<std::vector<at::Tensor>> to(1);
    for (std::size_t r = 0; r < inside_->where.ranks; ++r)
        to[0].push_back(at::from_blob(out.data() + r * mine.size(), {length}, at::kByte));
    inside_->make([&] { return inside_->group->allgather(to, from); });
    return out;
}

void wire::sum(std::span<std::int64_t> numbers) {
    std::vector<at::Tensor> tensor{at::from_blob(numbers.data(), {std::ssize(numbers)}, at::kLong)};
    inside_->make([&] { return inside_->group->reduce(tensor); });
}

}  // namespace rldp::ranks
