(* SPDX-License-Identifier: Apache-2.0 *)
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)

let () =
  let budget = float_of_string Sys.argv.(1) /. 1000. in
  while Sys.time () < budget do
    ignore (Sys.opaque_identity (fib 27))
  done
