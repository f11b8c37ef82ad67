# What `cmake --install` installs, by component, and the Debian packages that CPack makes of it (scripts/package).
#
# Programs find the harness and the child runtime relative to their own place, so any prefix works. Below /usr, services
# get their units and their settings in /etc/kq too.
set(KQ_PACKAGE_RELEASE 1 CACHE STRING "the number after the version in the name of a Debian package")
set(KQ_MAINTAINER "kq maintainers <kq@example.org>" CACHE STRING "Maintainer of the Debian packages")

set(kq_worker_programs kq-cache kq-judge kq-worker)
set(kq_client_programs ${KQ_PROGRAMS})
list(REMOVE_ITEM kq_client_programs kq-broker kq-gateway ${kq_worker_programs})

# Man pages are made of --help where help2man is installed. They are no part of the target `all`.
find_program(KQ_HELP2MAN help2man)
add_custom_target(kq_man)

function(kq_install_programs component)
  install(TARGETS ${ARGN} RUNTIME DESTINATION bin COMPONENT ${component})
  foreach(program IN LISTS ARGN)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.1.gz)
    if(KQ_HELP2MAN)
      add_custom_command(OUTPUT ${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND ${CMAKE_SOURCE_DIR}/cmake/man_page.sh $<TARGET_FILE:${program}> ${page}
        DEPENDS ${program} ${CMAKE_SOURCE_DIR}/cmake/man_page.sh)
      add_custom_target(man_${program} DEPENDS ${page})
      add_dependencies(kq_man man_${program})
    endif()
    install(FILES ${page} DESTINATION share/man/man1 COMPONENT ${component} OPTIONAL)
    # bash and fish look for a file of the program's name.
    install(FILES deploy/completion/kq.bash DESTINATION share/bash-completion/completions RENAME ${program}
      COMPONENT ${component})
    install(FILES deploy/completion/kq.fish DESTINATION share/fish/vendor_completions.d RENAME ${program}.fish
      COMPONENT ${component})
  endforeach()
endfunction()
# zsh finds one file for all programs.
install(FILES deploy/completion/kq.zsh DESTINATION share/zsh/vendor-completions RENAME _kq COMPONENT client)

kq_install_programs(client ${kq_client_programs})
install(PROGRAMS ${CMAKE_BINARY_DIR}/bin/kq-rejudge DESTINATION bin COMPONENT client)
kq_install_programs(broker kq-broker)
kq_install_programs(gateway kq-gateway)
kq_install_programs(worker ${kq_worker_programs})

install(TARGETS kqstub LIBRARY DESTINATION lib/kq COMPONENT worker)
install(TARGETS kq-launcher RUNTIME DESTINATION lib/kq COMPONENT worker)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/kq/harness DESTINATION share/kq COMPONENT client
  FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE PATTERN tests EXCLUDE)
install(DIRECTORY share/ DESTINATION share/kq COMPONENT client)
# The libraries that reports hold, where the build found them.
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/kq/report/ DESTINATION share/kq/report COMPONENT client)
install(PROGRAMS deploy/slurm/worker.sbatch DESTINATION share/kq/slurm COMPONENT client)
install(DIRECTORY docs/user docs/operator DESTINATION share/doc/kq-client/docs COMPONENT client)
install(FILES docs/README.md docs/glossary.md DESTINATION share/doc/kq-client/docs COMPONENT client)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/kq-client COMPONENT client)
install(DIRECTORY examples/sweep DESTINATION share/doc/kq-client/examples COMPONENT client)
install(DIRECTORY python/kq DESTINATION lib/python3/dist-packages COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
install(PROGRAMS deploy/debian/python/kq-mcp DESTINATION bin COMPONENT python)

# Files that only a Debian system wants: file(INSTALL) puts DESTDIR before these absolute names.
function(kq_install_below_usr component folder name file)
  install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      file(INSTALL DESTINATION \"${folder}\" TYPE FILE RENAME \"${name}\" FILES \"${file}\")
    endif()" COMPONENT ${component})
endfunction()

set(debian ${CMAKE_BINARY_DIR}/debian)
execute_process(COMMAND git log -1 --format=%cD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  OUTPUT_VARIABLE KQ_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT KQ_COMMIT_DATE)
  set(KQ_COMMIT_DATE "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
configure_file(deploy/debian/changelog.in ${debian}/changelog)
execute_process(COMMAND gzip -9nkf ${debian}/changelog)
# Notices of the libraries whose code is in the programs: headers, and static libraries.
file(WRITE ${debian}/third-party.txt "Notices of the projects whose code is in these programs.\n")
foreach(library libcli11-dev libcpp-httplib-dev cppzmq-dev libexpected-dev libmsgpack-cxx-dev librocksdb-dev
        libseccomp-dev nlohmann-json3-dev)
  set(notice /usr/share/doc/${library}/copyright)
  if(EXISTS ${notice})
    file(READ ${notice} text)
    file(APPEND ${debian}/third-party.txt "\n==== ${library} ====\n\n${text}")
  endif()
endforeach()
foreach(component client broker gateway worker python)
  set(package kq-${component})
  set(KQ_WITHOUT_PAGE kq-rejudge)
  if(component STREQUAL "python")
    set(package python3-kq)
    set(KQ_WITHOUT_PAGE kq-mcp)
  endif()
  install(FILES deploy/debian/copyright DESTINATION share/doc/${package} COMPONENT ${component})
  if(NOT component STREQUAL "python")
    install(FILES ${debian}/third-party.txt DESTINATION share/doc/${package} COMPONENT ${component})
  endif()
  install(FILES ${debian}/changelog.gz DESTINATION share/doc/${package} RENAME changelog.Debian.gz
    COMPONENT ${component})
  set(KQ_PACKAGE ${package})
  configure_file(deploy/debian/lintian-overrides.in ${debian}/overrides/${package} @ONLY)
  kq_install_below_usr(${component} /usr/share/lintian/overrides ${package} ${debian}/overrides/${package})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
endforeach()

foreach(service broker gateway worker)
  set(KQ_SERVICE kq-${service})
  set(scripts ${debian}/${service})
  foreach(script postinst prerm postrm)
    configure_file(deploy/debian/${script}.in ${scripts}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
  file(WRITE ${scripts}/conffiles "/etc/kq/${service}.env\n")
  if(service STREQUAL "broker")
    file(APPEND ${scripts}/conffiles "/etc/kq/backup.env\n")
  endif()
  set(systemd ${CMAKE_SOURCE_DIR}/deploy/systemd)
  kq_install_below_usr(${service} /usr/lib/systemd/system kq-${service}.service ${systemd}/kq-${service}.service)
  kq_install_below_usr(${service} /etc/kq ${service}.env ${systemd}/${service}.env)
  foreach(kind sysusers tmpfiles)
    if(EXISTS ${systemd}/kq-${service}.${kind})
      kq_install_below_usr(${service} /usr/lib/${kind}.d kq-${service}.conf ${systemd}/kq-${service}.${kind})
    endif()
  endforeach()
  string(TOUPPER ${service} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    ${scripts}/postinst ${scripts}/prerm ${scripts}/postrm ${scripts}/conffiles)
endforeach()
# Backups on a schedule, which nothing enables by itself.
foreach(unit service timer)
  kq_install_below_usr(broker /usr/lib/systemd/system kq-backup.${unit} ${systemd}/kq-backup.${unit})
endforeach()
kq_install_below_usr(broker /etc/kq backup.env ${systemd}/backup.env)
install(PROGRAMS deploy/systemd/kq-backup DESTINATION lib/kq COMPONENT broker)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  ${CMAKE_SOURCE_DIR}/deploy/debian/python/postinst ${CMAKE_SOURCE_DIR}/deploy/debian/python/prerm)

set(same "(= ${PROJECT_VERSION}-${KQ_PACKAGE_RELEASE})")
set(users "systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "python3")
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS "kq-broker, kq-worker, python3-kq")
set(CPACK_DEBIAN_BROKER_PACKAGE_DEPENDS "${users}")
set(CPACK_DEBIAN_BROKER_PACKAGE_RECOMMENDS "kq-client")
set(CPACK_DEBIAN_BROKER_PACKAGE_SUGGESTS "rclone")
set(CPACK_DEBIAN_GATEWAY_PACKAGE_DEPENDS "${users}")
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS "kq-client ${same}, python3")
set(CPACK_DEBIAN_WORKER_PACKAGE_RECOMMENDS "g++, python3-dev, python3-venv, systemd")
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3 (>= 3.10), python3-msgpack, python3-zmq")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)

set(about "kq evaluates GPU kernels in bulk: whether a kernel compiles, is\n correct, is fast, and measures honestly.")
foreach(pair "CLIENT;programs that submit and read results" "BROKER;the durable queue" "GATEWAY;submission by HTTP"
        "WORKER;builds and judges kernels" "PYTHON;client for Python")
  list(GET pair 0 upper)
  list(GET pair 1 summary)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "kernel queue: ${summary}\n${about}")
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kq)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${KQ_PACKAGE_RELEASE})
set(CPACK_PACKAGE_CONTACT ${KQ_MAINTAINER})
set(CPACK_COMPONENTS_ALL client broker gateway worker python)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packages need the target `programs`, and not the tests
include(CPack)
