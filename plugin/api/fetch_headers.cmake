# Fetches the pinned source distribution of pypjrt into DESTINATION and leaves its headers under DESTINATION/vendor:
#   cmake -DDESTINATION=... [-DPYTHON=python3] -P fetch_headers.cmake
# The package holds the PJRT C API 0.114 with all extension headers (Apache-2.0); no copy enters the tree.
set(SHOAL_PYPJRT_VERSION 0.1.1)
set(archive ${DESTINATION}/pypjrt-${SHOAL_PYPJRT_VERSION}.tar.gz)
if(NOT PYTHON)
  set(PYTHON python3)
endif()
if(NOT EXISTS ${DESTINATION}/vendor/xla/pjrt/c/pjrt_c_api.h)
  file(MAKE_DIRECTORY ${DESTINATION})
  if(NOT EXISTS ${archive})
    execute_process(
      COMMAND ${PYTHON} -m pip download --quiet --no-deps --no-binary pypjrt
              --disable-pip-version-check -d ${DESTINATION} pypjrt==${SHOAL_PYPJRT_VERSION}
      RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT EXISTS ${archive})
      message(FATAL_ERROR "The PJRT headers could not be fetched: \"pip download pypjrt==${SHOAL_PYPJRT_VERSION}\" "
                          "failed.\n${output}\nIf there is no network, unpack that source distribution yourself and "
                          "pass -DSHOAL_PJRT_INCLUDE=<it>/vendor")
    endif()
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${DESTINATION}/unpacked)
  file(RENAME ${DESTINATION}/unpacked/pypjrt-${SHOAL_PYPJRT_VERSION}/vendor ${DESTINATION}/vendor)
endif()
