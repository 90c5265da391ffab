#pragma once

#include <memory>

#include "cli/options.hpp"
#include "cli/run_journal.hpp"
#include "cli/source.hpp"
#include "io/output_stream.hpp"
#include "mha/model/model.hpp"

namespace mha::cli {

class Log;

/// Whether `--resume` finds its file finished by the same run, and says so: there is nothing to do. Throws Error{usage}
/// if the file is of another run, or nothing says of which.
bool is_finished(const Options& options, Log& log);

/// With `--resume`: cuts what an earlier run left in the unfinished file behind the last place up to which it is whole,
/// takes the inputs that are done from the source, and returns the journal that goes on. Else a null pointer.
/// Throws Error{usage} and touches nothing if the file is of another run or the inputs are others.
std::unique_ptr<RunJournal> resume_run(const Options& options, const Model& model, InputSource& source,
                                       OutputStream& out);

}  // namespace mha::cli
