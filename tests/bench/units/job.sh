# SPDX-License-Identifier: Apache-2.0
# The life of the services, from the installation of their packages to the removal. Run in a guest by root; run.py judges
# what it leaves in /out. Waits count seconds of the guest's clock, which passes at once where the guest has nothing to do.
AGENT=fpless-agent SERVE=fpless-serve PUSH=fpless-push@pyroscope
URL=http://127.0.0.1:8421

part() {
	echo "$(now_ms) ms: $1"
}

# keep NAME COMMAND...: its output, and its status behind it
keep() {
	kept_as=$1
	shift
	"$@" >"/out/$kept_as" 2>&1
	echo $? >"/out/$kept_as.status"
}

fault() {
	echo "$*" >>/out/faults
}

# wait_for WHAT COMMAND...: until the command succeeds
wait_for() {
	awaited=$1 tries=900
	shift
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		if [ $tries = 0 ]; then
			fault "not within 900 s: $awaited"
			return 1
		fi
		sleep 1
	done
}

now_ms() {
	sed 's/\([0-9]*\)\.\([0-9]*\) .*/\1\20/' /proc/uptime
}

property() {
	systemctl show --property="$2" --value "$1"
}

is_active() {
	[ "$(property "$1" ActiveState)" = active ]
}

# has_windows N: the agent that runs has kept as many since it began
has_windows() {
	status=$(property $AGENT StatusText)
	[ "${status%% windows kept*}" -ge "$1" ]
}

# is_another PID: the agent is active, as another process than before
is_another() {
	is_active $AGENT && [ "$(property $AGENT MainPID)" != "$1" ]
}

# processes UNIT NAME: who they are and what they may
processes() {
	for pid in $(cat "/sys/fs/cgroup$(property "$1" ControlGroup)/cgroup.procs"); do
		echo "Process: $pid $(cat "/proc/$pid/comm")"
		cat "/proc/$pid"/task/*/status "/proc/$pid"/smaps_rollup
	done >"/out/$2" 2>&1
}

programs() {
	bpftool prog show | grep -v ' cgroup_'
}

files() {
	find / -xdev | LC_ALL=C sort
}

# ask NAME WORDS...: curl's answer to a request
ask() {
	asked_as=$1
	shift
	keep "$asked_as" curl --silent --show-error --fail --max-time 100 "$@"
}

ask_socket() {
	ask "$1" --unix-socket /run/fpless-serve/socket "http://localhost$2"
}

show() {
	systemctl show --property=User,Type,ActiveState,Result,NRestarts,WatchdogUSec,MemoryCurrent,StatusText "$1"
}

nr_windows() {
	fpless query list --json | grep -o '"start_unix_ns"' | wc -l
}

echo 3 >/proc/sys/kernel/perf_event_paranoid
systemctl is-system-running --wait >/out/system
uname -r >/out/release
files >/out/files.before
programs >/out/programs.before

part install
keep install apt-get -q -y install /root/fpless.deb /root/fpless-agent.deb
keep installed systemctl is-active $AGENT $SERVE

part 'agent, and two windows'
systemd-run --quiet --unit=busy perl /root/busy.pl
began_ms=$(now_ms)
keep agent.start systemctl start $AGENT
echo $(($(now_ms) - began_ms)) >/out/agent.start_ms
wait_for 'the first window' has_windows 1
echo $(($(now_ms) - began_ms)) >/out/agent.window_ms
wait_for 'the second window' has_windows 2
processes $AGENT agent.processes
keep agent.show show $AGENT
keep agent.paranoid cat /proc/sys/kernel/perf_event_paranoid
programs >/out/programs.running
systemctl stop busy
keep windows fpless query list --json
keep top fpless query top --from -1m --cgroup busy.service --json

part serve
began_ms=$(now_ms)
keep serve.start systemctl start $SERVE
echo $(($(now_ms) - began_ms)) >/out/serve.start_ms
ask_socket serve.windows /api/windows
ask_socket serve.top '/api/top?from=-5m&unit=busy.service'
ask_socket serve.flame '/api/flame?from=-5m&unit=busy.service'
ask_socket serve.report '/report?from=-5m'
ask_socket serve.page /
ask_socket serve.metrics /metrics
keep serve.member setpriv --reuid=daemon --regid=_fpless --clear-groups \
	curl --silent --fail --unix-socket /run/fpless-serve/socket http://localhost/healthz
keep serve.other setpriv --reuid=daemon --regid=daemon --clear-groups \
	curl --silent --fail --unix-socket /run/fpless-serve/socket http://localhost/healthz
processes $SERVE serve.processes
keep serve.show show $SERVE

part 'serve at a port'
mkdir -p /etc/systemd/system/$SERVE.service.d
cp /root/serve.conf /etc/systemd/system/$SERVE.service.d/override.conf
systemctl daemon-reload
keep port.start systemctl restart $SERVE
keep port.journal journalctl --unit $SERVE --output cat --no-pager
token=$(cat /run/fpless-serve/token)
ask port.refused $URL/api/windows
ask port.top -H "Authorization: Bearer $token" "$URL/api/top?from=-5m&unit=busy.service"
# a browser: the page, the cookie, the report
ask port.page $URL/
ask port.login -c /root/cookies -H "Authorization: Bearer $token" $URL/login
ask port.report -b /root/cookies "$URL/report?from=-5m"
rm -r /etc/systemd/system/$SERVE.service.d
systemctl daemon-reload
systemctl restart $SERVE

part security
for unit in $AGENT $SERVE $PUSH; do
	keep "security.$unit" systemd-analyze security --no-pager $unit.service
done

part watchdog
sleep 400
keep fed.show show $AGENT
pid=$(property $AGENT MainPID)
kill -STOP $pid
wait_for 'another agent in place of one that is stopped' is_another $pid
keep watchdog.journal journalctl --unit $AGENT --output cat --no-pager

part 'agents that are killed'
nr_windows >/out/nr_windows.before
pid=$(property $AGENT MainPID)
kill -KILL $pid
wait_for 'another agent in place of one that was killed' is_another $pid
pid=$(property $AGENT MainPID)
wait_for 'a window of it' has_windows 1
# the process that writes the store is the one that has it open
for child in $(cat "/sys/fs/cgroup$(property $AGENT ControlGroup)/cgroup.procs"); do
	readlink "/proc/$child"/fd/* | grep -q fpless.db && writer=$child
done
echo "$writer $pid" >/out/writer
kill -KILL $writer
wait_for 'another agent in place of one whose writer was killed' is_another $pid
keep killed.show show $AGENT

part 'restart and stop'
keep restart systemctl restart $AGENT
wait_for 'a window after the restart' has_windows 1
keep stop.serve systemctl stop $SERVE
keep stop systemctl stop $AGENT
keep stop.show show $AGENT
programs >/out/programs.after
keep check fpless query check
nr_windows >/out/nr_windows.after
keep agent.journal journalctl --unit $AGENT --output cat --no-pager
keep serve.journal journalctl --unit $SERVE --output cat --no-pager

part 'a mistake in the configuration'
cp /etc/fpless/agent.conf /root/agent.conf
echo 'windo = 10' >>/etc/fpless/agent.conf
keep mistake.start systemctl start $AGENT
sleep 30
keep mistake.show show $AGENT
keep mistake.journal journalctl --unit $AGENT --output cat --no-pager --lines 20
cp /root/agent.conf /etc/fpless/agent.conf
systemctl reset-failed $AGENT

part push
keep push.missing systemctl start $PUSH
keep push.missing_status systemctl status --no-pager $PUSH
cp /root/push.conf /etc/fpless/push-pyroscope.conf
(umask 077 && echo secret >/etc/fpless/push-pyroscope.token)
mkdir -p /etc/systemd/system/$PUSH.service.d
cp /root/push-drop-in.conf /etc/systemd/system/$PUSH.service.d/override.conf
systemctl daemon-reload
keep push.start systemctl start $PUSH
nothing_is_sent() {
	case $(property $PUSH StatusText) in Nothing\ is\ sent*) ;; *) return 1 ;; esac
}
wait_for 'a push that meets no server' nothing_is_sent
keep push.away show $PUSH
systemd-run --quiet --unit=pyroscope perl /root/pyroscope.pl
all_is_sent() {
	case $(property $PUSH StatusText) in *\ sent*) ! nothing_is_sent ;; *) return 1 ;; esac
}
wait_for 'a push of all windows' all_is_sent
keep push.show show $PUSH
keep push.requests journalctl --unit pyroscope --output cat --no-pager
# as node_exporter does, for which they are
keep push.metrics setpriv --reuid=nobody --regid=nogroup --clear-groups cat /run/fpless-push/pyroscope/metrics.prom
processes $PUSH push.processes

part upgrade
systemctl start $AGENT $SERVE
keep enable systemctl enable $AGENT $SERVE $PUSH
echo '# of the administrator' >>/etc/fpless/agent.conf
for unit in $AGENT $SERVE $PUSH; do
	property $unit MainPID
done >/out/upgrade.before
keep upgrade apt-get -q -y install /root/newer/fpless.deb /root/newer/fpless-agent.deb
wait_for 'an agent of the newer package' is_active $AGENT
for unit in $AGENT $SERVE $PUSH; do
	property $unit MainPID
done >/out/upgrade.after
keep upgrade.active systemctl is-active $AGENT $SERVE $PUSH
keep upgrade.conf tail -n 1 /etc/fpless/agent.conf
nr_windows >/out/nr_windows.upgraded

part removal
keep remove apt-get -q -y remove fpless-agent
keep remove.active systemctl is-active $AGENT $SERVE $PUSH
keep remove.store fpless query check
keep remove.conf ls /etc/fpless/agent.conf
keep purge apt-get -q -y purge fpless-agent fpless
keep purge.user getent passwd _fpless
programs >/out/programs.purged
# the administrator's own
rm -r /etc/systemd/system/$PUSH.service.d /etc/fpless/push-pyroscope.conf /etc/fpless/push-pyroscope.token
rmdir /etc/fpless
files >/out/files.after
