package proc

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// reins hold a job object that kills its members when its handle is closed, so
// also when the harness dies. What the child starts in the instant before it is
// put into the job is not a member.
type reins struct {
	job windows.Handle
	pid uint32 // names the console group too
}

func newReins(cmd *exec.Cmd) (reins, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return reins{}, fmt.Errorf("create job object: %w", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return reins{}, fmt.Errorf("set up job object: %w", err)
	}
	return reins{job: job}, nil
}

func (r *reins) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		r.release()
		return err
	}
	if err := r.adopt(cmd.Process.Pid); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		r.release()
		return fmt.Errorf("put into job object: %w", err)
	}
	return nil
}

func (r *reins) adopt(pid int) error {
	r.pid = uint32(pid)
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, r.pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(p)
	return windows.AssignProcessToJobObject(r.job, p)
}

func (r *reins) terminate() { windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, r.pid) }
func (r *reins) kill()      { windows.TerminateJobObject(r.job, 1) }
func (r *reins) release()   { windows.CloseHandle(r.job) }

func deathOf(*os.ProcessState) string { return "" }
