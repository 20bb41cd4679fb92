find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
add_library(lenslet_crafted_files STATIC io/crafted_files.cpp)
target_link_libraries(lenslet_crafted_files PUBLIC lenslet_io PRIVATE ZLIB::ZLIB JPEG::JPEG)

lenslet_test(io
  SOURCES io/file_test.cpp io/gzip_test.cpp io/idx_test.cpp io/safetensors_test.cpp io/picture_test.cpp io/png_test.cpp io/png_writer_test.cpp io/jpeg_test.cpp io/npz_test.cpp
  DEPENDS lenslet_crafted_files ZLIB::ZLIB)
