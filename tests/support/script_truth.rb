# SPDX-License-Identifier: Apache-2.0
# A program that knows its own stack, as script_truth.py does: calls of many kinds, nested at random, end in a loop. Before the
# loop it writes its chain of caller_locations() under a number and makes that number the name of its thread, so that each
# sample says which chain it must show.
#
#     ruby script_truth.rb TRUTH SECONDS SPIN_MS SEED [KIND...]
#
# Times are CPU times. TRUTH: lines of JSON: {"n": 12, "chain": [[function, file, line], ...]}, the innermost first. Methods of C
# are native frames, so they are left out: C_METHODS has them by name, and each is said to be where its caller is. Methods that
# Ruby defines in Ruby (<internal:kernel>) are in both.

TRUTH, SECONDS, SPIN_MS = File.open(ARGV[0], "w"), ARGV[1].to_f, ARGV[2].to_f
TRUTH.sync = true
RANDOM = Random.new(ARGV[3].to_i)
C_METHODS = %w[each times map sort_by sort! sort inject select each_with_index new initialize eval instance_eval instance_exec class_eval
               instance_variable_get public_send send __send__ call yield catch throw gsub scan require load lazy first next resume
               define_method raise to_s + - == <=> [] []= coerce each_pair fetch tap then loop join value synchronize ensure
               block_call proc lambda method_missing curry === step upto each_entry zip each_slice reduce collect
               format puts Integer backtrace set_backtrace exception hash eql? any? all? find bsearch sum min_by each_char].freeze

$number = 0
$lock = Mutex.new

def cpu_s
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
end

def set_name(name)
  File.write("/proc/thread-self/comm", name)
end

def spin
  mine = $lock.synchronize { $number += 1 }
  chain = caller_locations(0).map { |at| [at.label, at.path, at.lineno] }
  list = chain.each_with_index.reject { |at, i| C_METHODS.include?(at[0]) && (!at[1] || at[1..] == chain[i + 1][1..]) }.map(&:first)
  TRUTH.write(%({"n": #{mine}, "chain": #{list.inspect}}\n))
  set_name("n#{mine}")
  stop = cpu_s + SPIN_MS / 1000
  while cpu_s < stop
    i = sum = 0
    while i < 200
      sum += i
      i += 1
    end
  end
  set_name("between")
end

def go(depth)
  if depth <= 0
    spin
  else
    send(KINDS[RANDOM.rand(KINDS.size)], depth - 1)
  end
  0
end

def kind_call(depth)
  go(depth)
end

def kind_each(depth)
  [depth].each { |value| go(value) }
end

def kind_map(depth)
  [depth].map do |value|
    go(value)
  end
end

def kind_times(depth)
  1.times { go(depth) }
end

def kind_loop(depth)
  loop do
    go(depth)
    break
  end
end

def kind_tap(depth)
  depth.tap { |value| go(value) }
end

def kind_hash_each(depth)
  { a: depth }.each_pair { |_key, value| go(value) }
end

def kind_inject(depth)
  [1, depth].inject { |_sum, value| go(value) }
end

def kind_sort_by(depth)
  once = [depth]
  [2, 1].sort_by { |value| go(once.pop) if once.any?; value }
end

def kind_sort(depth)
  once = [depth]
  [2, 1].sort! do |a, b|
    go(once.pop) unless once.empty?
    a <=> b
  end
end

def kind_gsub(depth)
  "x".gsub(/x/) { go(depth).to_s }
end

def kind_lambda(depth)
  work = lambda do |value|
    go(value)
  end
  work.call(depth)
end

def kind_proc_brackets(depth)
  proc { |value| go(value) }[depth]
end

def kind_send(depth)
  send(:go, depth)
end

def kind_public_send(depth)
  Has.new(depth).public_send(:work)
end

def kind_method_object(depth)
  method(:go).call(depth)
end

def kind_symbol_to_proc(depth)
  [Has.new(depth)].each(&:work)
end

def kind_yield(depth)
  yields(depth) { |value| go(value) }
end

def yields(depth)
  yield depth
end

def kind_block_given_on(depth)
  yields_on(depth) { |value| go(value) }
end

def yields_on(depth, &block)
  [depth].each(&block)
end

def kind_rescue(depth)
  raise ArgumentError, "wanted"
rescue ArgumentError
  go(depth)
end

def kind_rescue_outer(depth)
  raises(depth)
rescue ArgumentError
  0
end

def raises(depth)
  go(depth)
  raise ArgumentError, "wanted"
end

def kind_ensure(depth)
  depth + 1
ensure
  go(depth)
end

def kind_ensure_raised(depth)
  begin
    begin
      raise ArgumentError, "wanted"
    ensure
      go(depth)
    end
  rescue ArgumentError
    0
  end
end

def kind_catch(depth)
  catch(:done) do
    go(depth)
    throw :done
  end
end

def kind_eval(depth)
  eval("go(depth)", binding, "made.rb", 7)
end

def kind_eval_def(depth)
  name = "made_#{$number % 50}"
  eval("def #{name}(depth)\n  go(depth)\nend", TOPLEVEL_BINDING, "made.rb", 20)
  send(name, depth)
end

def kind_instance_eval(depth)
  Has.new(depth).instance_eval { go(@depth) }
end

def kind_instance_exec(depth)
  Has.new(depth).instance_exec(depth) { |value| go(value) }
end

def kind_define_method(depth)
  Has.new(depth).defined_by_block
end

def kind_method_missing(depth)
  Has.new(depth).is_missing
end

def kind_operator(depth)
  Has.new(depth) + 1
end

def kind_to_s(depth)
  "#{Has.new(depth)}".size
end

def kind_compare(depth)
  [Has.new(depth), Has.new(nil)].sort
end

def kind_initialize(depth)
  Makes.new(depth)
end

def kind_super(depth)
  Derived.new(depth).work
end

def kind_singleton(depth)
  Has.of(depth)
end

def kind_class_body(depth)
  $depth = depth
  eval("class Opened\n  go_here = $depth\n  Object.new.send(:go, go_here)\nend", TOPLEVEL_BINDING, "opened.rb", 1)
end

def kind_optional(depth, other = go(depth))
  other
end

def kind_keywords(depth)
  with_keywords(depth: depth)
end

def with_keywords(depth:, other: 1)
  go(depth)
  other
end

def kind_splat(depth)
  with_splat(*[depth, 2])
end

def with_splat(*all)
  go(all[0])
end

def kind_enumerator(depth)
  Enumerator.new { |to| to << go(depth) }.first
end

def kind_curry(depth)
  ->(a, _b) { go(a) }.curry[depth][2]
end

def kind_case(depth)
  case 1
  when Has.new(depth)
    0
  end
end

def kind_at_exit_of_thread(depth)
  Thread.new { go(depth) }.join
end

def kind_fiber(depth)
  Fiber.new { go(depth) }.resume
end

def kind_fiber_resumed(depth)
  fiber = Fiber.new do
    Fiber.yield
    go(depth)
  end
  fiber.resume
  fiber.resume
end

def kind_external_enumerator(depth)
  values = Enumerator.new do |to|
    to << 1
    to << go(depth)
  end
  values.next
  values.next
end

class Has
  def initialize(depth)
    @depth = depth
  end

  def self.of(depth)
    new(depth).work
  end

  def work
    go(@depth)
  end

  def +(_other)
    go(@depth)
  end

  def to_s
    go(@depth).inspect
  end

  def <=>(_other)
    go(@depth) if @depth
    0
  end

  def ===(_other)
    go(@depth)
    true
  end

  def method_missing(_name)
    go(@depth)
  end

  define_method(:defined_by_block) do
    go(@depth)
  end

  def respond_to_missing?(_name, _all = false)
    false
  end
end

class Makes
  def initialize(depth)
    go(depth)
  end
end

class Derived < Has
  def work
    super
  end
end

KINDS = (ARGV.size > 4 ? ARGV[4..] : Object.private_instance_methods.grep(/\Akind_/).sort).freeze

go(1 + RANDOM.rand(13)) while cpu_s < SECONDS
