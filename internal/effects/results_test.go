package effects

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

// An answer about more agents than there is room for is a whole document, which
// says how many it leaves out and who comes next.
func TestAnswersFit(t *testing.T) {
	for _, n := range []int{0, 1, 30, 100, 3000} {
		all := make([]result, n)
		for i := range all {
			all[i] = result{standing: standing{Agent: agency.AgentID(fmt.Sprint("scaffolder-", i)), Reason: strings.Repeat("r", 200)}}
		}
		shown, left := firstThatFit(all, func(r result) agency.AgentID { return r.Agent })
		if len(shown)+left.LeftOut != n || n > 0 && len(shown) == 0 || (n <= 30) != (left.LeftOut == 0) {
			t.Fatalf("of %d it shows %d and leaves out %d", n, len(shown), left.LeftOut)
		}
		if left.LeftOut > 0 && left.LeftOutFirst[0] != all[len(shown)].Agent {
			t.Errorf("the next is %s", left.LeftOutFirst[0])
		}
		text := jsonText(collectAnswer{shown, left})
		if len(text) > tool.MaxResult || tool.Cap(text, tool.MaxResult) != text {
			t.Errorf("of %d: %d bytes", n, len(text))
		}
		if left.LeftOut > 0 && len(text) < tool.MaxResult/2 {
			t.Errorf("of %d it leaves out %d with room for them: %d bytes", n, left.LeftOut, len(text))
		}
	}
	huge, left := firstThatFit([]result{{standing: standing{Reason: strings.Repeat("r", tool.MaxResult)}}, {}}, func(r result) agency.AgentID { return r.Agent })
	if len(huge) != 1 || left.LeftOut != 1 {
		t.Errorf("of one that is too large and another it shows %d", len(huge))
	}
}
