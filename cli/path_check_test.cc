#include "cli/path_check.h"

#include <string>

#include "common/file_env.h"
#include "common/posix_file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

class PathCheckTest : public testing::Test {
 protected:
  PathCheckTest() {
    PosixFileEnv env;
    EXPECT_TRUE(WriteFileAtomically(env, file_, "x").ok());
  }
  const std::string folder_ = testing::TempDir();
  const std::string file_ = JoinPath(folder_, "file");
};

TEST_F(PathCheckTest, AFolderMustBeThere) {
  EXPECT_TRUE(CheckFolder("it", folder_, "").ok());
  EXPECT_TRUE(CheckFolder("it", ".", "").ok());
  EXPECT_EQ(CheckFolder("--output out", JoinPath(folder_, "out"), "name one"),
            absl::NotFoundError("--output out does not exist; name one"));
  EXPECT_EQ(CheckFolder("--output f", file_, "name one"),
            absl::InvalidArgumentError("--output f is a file; name one"));
}

TEST_F(PathCheckTest, ANewFolderMustFit) {
  for (const std::string& path :
       {folder_, JoinPath(folder_, "new"), JoinPath(folder_, "new/er/"),
        std::string("new/er"), std::string("./new"), std::string("/")}) {
    EXPECT_TRUE(CheckNewFolder("it", path, "").ok()) << path;
  }
  EXPECT_EQ(CheckNewFolder("--output f", file_, "name one"),
            absl::InvalidArgumentError("--output f is a file; name one"));
  EXPECT_EQ(CheckNewFolder("it", file_ + "/a/b", "name one"),
            absl::InvalidArgumentError("it lies below " + file_ +
                                       ", which is a file; name one"));
}

TEST_F(PathCheckTest, ALongNameIsTheUsersToMend) {
  const std::string path = JoinPath(folder_, std::string(300, 'x'));
  for (const absl::Status& status :
       {CheckFolder("it", path, ""), CheckNewFolder("it", path, "")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_NE(std::string(status.message()).find("File name too long"),
              std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace selari
