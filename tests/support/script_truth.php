<?php
// SPDX-License-Identifier: Apache-2.0
// A program that knows its own stack, as script_truth.py does: calls of many kinds, nested at random, end in a loop. Before the
// loop it writes its chain of debug_backtrace() under a number and makes that number the name of its process, so that each
// sample says which chain it must show.
//
//     php script_truth.php TRUTH SECONDS SPIN_MS SEED [KIND...]
//
// Times are CPU times. TRUTH: lines of JSON: {"n": 12, "chain": [[function, file, line], ...]}, the innermost first. Functions of
// PHP itself are native frames, so they are left out.

function cpu_s()
{
	$used = getrusage();
	return $used["ru_utime.tv_sec"] + $used["ru_utime.tv_usec"] / 1e6;
}

function is_internal($call)
{
	if (isset($call["class"])) {
		if (strpos($call["function"], "{closure") !== false)
			return false;
		return (new ReflectionMethod($call["class"], $call["function"]))->isInternal();
	}
	return function_exists($call["function"]) && (new ReflectionFunction($call["function"]))->isInternal();
}

// Each call says where its caller is. Code of files and of eval() has no function of its own: its call is that of include or eval.
function chain()
{
	$chain = [];
	$line = 0;
	$file = "";
	foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $i => $call) {
		// the name of an anonymous class goes on behind a NUL
		$name = (isset($call["class"]) ? strtok($call["class"], "\0") . "::" : "") . $call["function"];
		if ($call["function"] == "eval")
			$name = "{eval}";
		if (in_array($call["function"], ["include", "require", "include_once", "require_once"]))
			$name = "{main}";
		if ($name == "{eval}" || $name == "{main}" || !is_internal($call))
			if ($i > 0)
				$chain[] = [$name, $file, $line];
		$file = $call["file"] ?? "";
		$line = $call["line"] ?? 0;
	}
	$chain[] = ["{main}", $file, $line];
	return $chain;
}

function spin()
{
	global $number, $spin_s, $truth;
	$number++;
	fwrite($truth, json_encode(["n" => $number, "chain" => chain()]) . "\n");
	$name = "n$number";
	$end = cpu_s() + $spin_s;
	file_put_contents("/proc/self/comm", $name);
	while (cpu_s() < $end)
		for ($i = 0, $sum = 0; $i < 200; $i++)
			$sum += $i;
	file_put_contents("/proc/self/comm", "between");
}

function go($depth)
{
	global $kinds;
	if ($depth <= 0)
		spin();
	else
		$kinds[mt_rand(0, count($kinds) - 1)]($depth - 1);
	return 0;
}

function kind_call($depth)
{
	go($depth);
}

function kind_usort($depth)
{
	$once = [$depth];
	$list = [2, 1];
	usort($list, function ($a, $b) use (&$once) {
		if ($once)
			go(array_pop($once));
		return 0;
	});
}

function kind_array_map($depth)
{
	array_map("go", [$depth]);
}

function kind_array_walk($depth)
{
	$list = [$depth];
	array_walk($list, function ($value) {
		go($value);
	});
}

function kind_reduce($depth)
{
	array_reduce([$depth], fn($sum, $value) => go($value));
}

function kind_call_user_func($depth)
{
	call_user_func_array("go", [$depth]);
}

function kind_generator($depth)
{
	$values = (function () use ($depth) {
		yield go($depth);
	})();
	foreach ($values as $value);
}

function kind_generator_current($depth)
{
	$values = (function () use ($depth) {
		yield 1;
		yield go($depth);
	})();
	$values->next();
	$values->current();
}

function kind_generator_throw($depth)
{
	$values = (function () use ($depth) {
		try {
			yield 1;
		} catch (Exception $e) {
			go($depth);
		}
		yield 2;
	})();
	$values->current();
	$values->throw(new Exception());
}

class Has
{
	public $depth;

	function __construct($depth)
	{
		$this->depth = $depth;
	}

	function method()
	{
		go($this->depth);
	}

	static function of($depth)
	{
		(new static($depth))->method();
	}

	function __get($name)
	{
		return go($this->depth);
	}

	function __call($name, $arguments)
	{
		go($arguments[0]);
	}

	static function __callStatic($name, $arguments)
	{
		go($arguments[0]);
	}

	function __toString()
	{
		go($this->depth);
		return "";
	}

	function __invoke($depth)
	{
		go($depth);
	}
}

class Derived extends Has
{
	use Method;
}

trait Method
{
	function from_trait()
	{
		go($this->depth);
	}
}

class Dies
{
	public $depth;

	function __destruct()
	{
		go($this->depth);
	}
}

class Walks implements IteratorAggregate
{
	public $depth;

	#[ReturnTypeWillChange]
	function getIterator()
	{
		go($this->depth);
		return new ArrayIterator([]);
	}
}

function kind_method($depth)
{
	(new Has($depth))->method();
}

function kind_static($depth)
{
	Derived::of($depth);
}

function kind_trait($depth)
{
	(new Derived($depth))->from_trait();
}

function kind_get($depth)
{
	(new Has($depth))->anything;
}

function kind_magic_call($depth)
{
	(new Has(0))->anything($depth);
}

function kind_magic_static($depth)
{
	Has::anything($depth);
}

function kind_to_string($depth)
{
	strlen(new Has($depth));
}

function kind_invoke($depth)
{
	(new Has(0))($depth);
}

function kind_destructor($depth)
{
	$x = new Dies();
	$x->depth = $depth;
	unset($x);
}

function kind_collected($depth)
{
	$x = new Dies();
	$x->depth = $depth;
	$x->me = $x;
	unset($x);
	gc_collect_cycles();
}

function kind_iterator($depth)
{
	$x = new Walks();
	$x->depth = $depth;
	foreach ($x as $y);
}

function kind_anonymous_class($depth)
{
	(new class {
		function run($depth)
		{
			go($depth);
		}
	})->run($depth);
}

function kind_eval($depth)
{
	eval("go($depth);");
}

function kind_eval_function($depth)
{
	global $number;
	static $made = 0;
	$made++;
	eval("function made_$made(\$d) {\n\n go(\$d); }\nmade_$made($depth);");
}

function kind_include($depth)
{
	global $folder;
	include "$folder/included_" . $depth % 3 . ".php";
}

function kind_preg($depth)
{
	preg_replace_callback("/a/", function ($match) use ($depth) {
		return (string)go($depth);
	}, "xay");
}

function kind_recursion($depth)
{
	$down = function ($n) use (&$down, $depth) {
		return $n ? $down($n - 1) : go($depth);
	};
	$down(mt_rand(1, 15));
}

function kind_finally($depth)
{
	try {
		throw new Exception();
	} catch (Exception $e) {
		try {
			strlen("x");
		} finally {
			go($depth);
		}
	}
}

function kind_arrow($depth)
{
	(fn(...$all) => go(...$all))(...[$depth]);
}

function kind_buffer($depth)
{
	ob_start(function ($text) use (&$depth) {
		return "";
	});
	go($depth);
	ob_end_clean();
}

function main()
{
	global $seconds, $truth;
	$end = cpu_s() + $seconds;
	while (cpu_s() < $end) {
		go(mt_rand(1, 13));
		fflush($truth);
	}
}

[, $path, $seconds, $spin_s, $seed] = $argv;
$truth = fopen($path, "w");
$spin_s /= 1000;
mt_srand((int)$seed);
$number = 0;
$folder = dirname($path);
for ($i = 0; $i < 3; $i++)
	file_put_contents("$folder/included_$i.php", "<?php\n" . str_repeat("\n", $i) . "go(\$depth);\n");
$kinds = array_slice($argv, 5);
foreach ($kinds ? [] : get_defined_functions()["user"] as $name)
	if (strpos($name, "kind_") === 0)
		$kinds[] = $name;
main();
