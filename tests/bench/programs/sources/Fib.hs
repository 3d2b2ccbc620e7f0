-- SPDX-License-Identifier: Apache-2.0
module Main (main) where

import Control.Exception (evaluate)
import Control.Monad (when)
import System.CPUTime (getCPUTime)
import System.Environment (getArgs)

fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
{-# NOINLINE fib #-}

main :: IO ()
main = do
  [arg] <- getArgs
  let budget = read arg * 1000000000 :: Integer
      loop = do
        used <- getCPUTime
        when (used < budget) (evaluate (fib (27 + fromInteger (used `mod` 2))) >> loop)
  loop
