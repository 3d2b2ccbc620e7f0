# SPDX-License-Identifier: Apache-2.0
# fpl_npm_modules(<folder> <modules> <problem>): the packages that <folder>/package-lock.json names, held against its
# hashes, fetched by npm as this machine has it configured. <modules> is where they are; empty where they cannot be had,
# and <problem> says why in a line. They are fetched once, into fpless-build in $XDG_CACHE_HOME or ~/.cache (the build
# folder where there is neither): scripts of packages are not run.
find_program(FPL_NPM npm)
find_program(FPL_NODE NAMES node nodejs)

# Into a folder of its own first: what stands in the cache is whole.
function(_fpl_npm_fetch folder place problem)
  string(RANDOM LENGTH 8 suffix)
  set(aside ${place}.${suffix})
  foreach(attempt RANGE 1 3)
    file(REMOVE_RECURSE ${aside})
    file(MAKE_DIRECTORY ${aside})
    file(COPY ${folder}/package.json ${folder}/package-lock.json DESTINATION ${aside})
    execute_process(
      COMMAND ${FPL_NPM} ci --ignore-scripts --no-audit --no-fund --no-update-notifier --no-progress --loglevel=error
              --cache ${aside}/.cache --fetch-retries 1 --fetch-timeout 20000 --fetch-retry-mintimeout 1000 --fetch-retry-maxtimeout 4000
      WORKING_DIRECTORY ${aside} TIMEOUT 60 RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said INPUT_FILE /dev/null)
    if(result EQUAL 0)
      break()
    endif()
  endforeach()
  if(result EQUAL 0)
    file(REMOVE_RECURSE ${aside}/.cache ${place})
    file(RENAME ${aside} ${place})
    set(${problem} "" PARENT_SCOPE)
  else()
    file(REMOVE_RECURSE ${aside})
    file(WRITE ${CMAKE_BINARY_DIR}/npm.log "${said}\n${result}\n")
    set(${problem} "npm could not fetch its packages (npm.log in the build folder)" PARENT_SCOPE)
  endif()
endfunction()

function(fpl_npm_modules folder modules problem)
  set(${modules} "" PARENT_SCOPE)
  if(NOT FPL_NPM OR NOT FPL_NODE)
    set(${problem} "there is no npm here" PARENT_SCOPE)
    return()
  endif()
  set(cache ${CMAKE_BINARY_DIR})
  foreach(home "$ENV{HOME}/.cache" "$ENV{XDG_CACHE_HOME}") # the last that is one
    if(home MATCHES "^/.+/.*[^/]$" AND NOT home MATCHES "^/\\.cache$")
      execute_process(COMMAND ${CMAKE_COMMAND} -E make_directory ${home}/fpless-build
                      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
      execute_process(COMMAND ${CMAKE_COMMAND} -E touch ${home}/fpless-build/.used RESULT_VARIABLE result ERROR_QUIET)
      if(result EQUAL 0)
        set(cache ${home}/fpless-build)
      endif()
    endif()
  endforeach()
  file(SHA256 ${folder}/package-lock.json digest)
  string(SUBSTRING ${digest} 0 16 digest)
  set(place ${cache}/npm-${digest})
  # One configures at a time: the others find what it fetched.
  file(LOCK ${place}.lock GUARD FUNCTION TIMEOUT 300 RESULT_VARIABLE locked)
  if(NOT locked EQUAL 0)
    set(${problem} "another build has been fetching packages for five minutes" PARENT_SCOPE)
    return()
  endif()
  if(NOT EXISTS ${place}/node_modules)
    message(STATUS "Fetching what the HTML report is drawn with")
    _fpl_npm_fetch(${folder} ${place} failed)
    if(failed)
      set(${problem} "${failed}" PARENT_SCOPE)
      return()
    endif()
  endif()
  set(${modules} ${place}/node_modules PARENT_SCOPE)
endfunction()
