package enrich

import (
	"context"
	"iter"

	"assetferry/state"
)

// Journal is what the engine asks of a state.Store, so that tests can make it fail.
type Journal interface {
	BeginSurvey(ctx context.Context, destination string) (int64, error)
	SaveSurveyed(ctx context.Context, destination string, survey int64, page []state.Surveyed) error
	EndSurvey(ctx context.Context, destination string, survey int64) error
	LastSurvey(ctx context.Context, destination string) (state.Survey, error)
	Surveyed(ctx context.Context, destination string) iter.Seq2[state.Surveyed, error]
	SurveyedAsset(ctx context.Context, destination, asset string) (state.Surveyed, error)
	Enrichables(ctx context.Context, destination string, kind state.EnrichmentKind, language string) iter.Seq2[state.Enrichable, error]
	MarkDecorative(ctx context.Context, destination string, assets []string, decorative bool) error

	BeginEnrichment(ctx context.Context, r state.EnrichmentRun) (state.EnrichmentRun, error)
	FinishEnrichment(ctx context.Context, run int64, credits *float64) error
	EnrichmentRun(ctx context.Context, id string) (state.EnrichmentRun, error)
	EnrichmentCost(ctx context.Context, service, command string) (state.EnrichmentCost, error)

	Enrichment(ctx context.Context, num int64) (state.Enrichment, error)
	Enrichments(ctx context.Context, destination string, f state.EnrichmentFilter) iter.Seq2[state.Enrichable, error]
	AskEnrichments(ctx context.Context, run state.EnrichmentRun, asked []state.Asking) ([]int64, error)
	AnswerEnrichments(ctx context.Context, run int64, answers []state.Answer) error
	AbandonAsking(ctx context.Context, destination, service string) (int64, error)
	Conversations(ctx context.Context, service string) iter.Seq2[state.Conversation, error]
	ForgetConversation(ctx context.Context, service, id string) error
	JudgeEnrichments(ctx context.Context, destination string, verdicts []state.Verdict) ([]int64, error)

	ApplyEnrichment(ctx context.Context, run, enrichment int64, before, after state.Written) error
	EnrichmentApplied(ctx context.Context, run string, enrichment int64, outcome state.ChangeState, why string) error
	EnrichmentConflict(ctx context.Context, enrichment int64, why string) error
	TakeBackEnrichment(ctx context.Context, run string, enrichment, by int64) error
	EnrichmentTakenBack(ctx context.Context, run string, enrichment int64, outcome state.ChangeState, why string) error
	EnrichmentChanges(ctx context.Context, run string) iter.Seq2[state.Change, error]
	LaterEnrichmentChanges(ctx context.Context, run, asset string) iter.Seq2[state.Change, error]
	OpenEnrichmentChanges(ctx context.Context, destination string) iter.Seq2[state.Change, error]
}
